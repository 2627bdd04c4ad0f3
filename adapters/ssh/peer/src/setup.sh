# Puts a house's accounts in place, in its own mount namespace: nothing of it reaches the machine.
state=$SESSIOND_PEER_STATE
mount -t proc proc /proc
# Logins are recorded below these two; the server's own directory and the homes are in the first.
mount -t tmpfs -o mode=0755 tmpfs /run
mount -t tmpfs -o mode=0755 tmpfs /var/log
mkdir -m 0755 /run/sshd /run/home /run/empty
mount --bind "$state/home" /run/home
for file in passwd group shadow; do
    mount --bind "$state/etc/$file" "/etc/$file"
done
if [ -e /etc/pam.d/sshd ]; then
    mount --bind "$state/etc/pam" /etc/pam.d/sshd
fi
# Whatever the umask of the tests is, sessions begin with the usual one.
umask 022
