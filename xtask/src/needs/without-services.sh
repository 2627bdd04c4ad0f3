# Runs its arguments while no package may start a service: a server that tests start for themselves is not to run on
# the machine as well. A policy that the machine has already stays as it is (invoke-rc.d(8)).
policy=/usr/sbin/policy-rc.d
if ! [ -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
fi
"$@"
