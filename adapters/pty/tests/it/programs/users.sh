# Runs its arguments as alice in a mount namespace of their own, where /etc knows root and alice alone and both have
# one password; nothing that su and sudo note down is kept.
set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/log
mount -t tmpfs tmpfs /etc
cd /etc
mkdir pam.d
# What `openssl passwd -6` makes of "open sesame".
secret='$6$G2ldaoCnVgNtLp2l$z5WbkAJnObjRUDEXkYSfhEH..CjU2geGM2aHA00p2kHRrF4qT65DGdVc0/Ne9d3FkaJwZbKCMaDRMOb8CSbhB.'
printf '%s\n' 'root:x:0:0::/:/bin/sh' 'alice:x:12345:12345::/tmp:/bin/sh' >passwd
printf '%s\n' 'root:x:0:' 'alice:x:12345:' >group
printf '%s\n' "root:$secret:1::::::" "alice:$secret:1::::::" >shadow
printf '%s\n' 'Defaults lecture=never' 'alice ALL=(ALL) ALL' >sudoers
chmod 600 shadow
chmod 440 sudoers
# sudo asks for the machine's address; no name server is to be asked.
echo 'hosts: files' >nsswitch.conf
printf '127.0.0.1 localhost %s\n' "$(uname -n)" >hosts
# A wrong password is answered at once.
echo 'FAIL_DELAY 0' >login.defs
printf '%s\n' 'auth required pam_unix.so nodelay' 'account required pam_unix.so' 'session required pam_permit.so' |
    tee pam.d/su >pam.d/sudo
cd /tmp
# Not as the first process of the namespace: when that one ends, whatever is left ends with it.
setsid --wait setpriv --reuid=12345 --regid=12345 --clear-groups "$@"
