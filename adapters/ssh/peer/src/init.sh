# The first process of a house. $1 prepares the namespaces; the other arguments are the server's command line.
#
# Orders come in on stdin, a word a line, and each is answered by a line on stdout. When stdin ends, because its
# owner has let go or has ended, so does this shell, and the kernel ends whatever is left in the namespace.
# Orphans become this shell's children: bash waits for every child, so none stays a zombie.
set -u
starts=0
pid_file=$SESSIOND_PEER_STATE/server.pid

# As the machine sees this process: its /proc is still the one mounted here.
read -r outer _ < /proc/self/stat
set -e
eval "$1"
set +e
shift
echo "ready $outer"

# The server's processes but the one that listens. One that has ended and waits to be reaped is none.
connections() {
    local stat pid name state rest server
    read -r server < "$pid_file"
    for stat in /proc/[0-9]*/stat; do
        { read -r pid name state rest < "$stat"; } 2>/dev/null || continue
        case $name in "(sshd"* | "(dropbear"*) ;; *) continue ;; esac
        if [ "$pid" != "$server" ] && [ "$state" != Z ] && [ "$state" != X ]; then echo "$pid"; fi
    done
}

while read -r order; do
    case $order in
    start)
        # The line at the end tells the owner that waiting for this server is in vain.
        starts=$((starts + 1))
        (
            "$@" < /dev/null > /dev/null &
            echo "$!" > "$pid_file"
            wait "$!"
            echo "server $starts ended with status $?" >&2
        ) &
        watcher=$!
        ;;
    stop)
        kill -TERM "$(< "$pid_file")"
        wait "$watcher"
        ;;
    cut)
        while found=$(connections) && [ -n "$found" ]; do
            kill -KILL $found 2> /dev/null
        done
        ;;
    esac
    echo "done $order"
done
