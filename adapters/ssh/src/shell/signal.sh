# One signal. Given: p, the leader; b, its start or nothing; s, the signal; to, whom it is for: leader, group (that the
# leader began) or terminal (the group in its foreground).
set -f
if read -r x </proc/"$p"/stat; then
    set -- ${x##*) }
    group=$3 terminal=$6
    case $1 in [ZXx]) group= ;; esac
    shift 19 && [ -n "$b" ] && [ "$1" != "$b" ] && group=
else
    set -- $(ps -o pgid=,tpgid= -p "$p")
    group=$1 terminal=$2
fi 2>/dev/null
[ "$to" = group ] && [ "$group" != "$p" ] && to=leader
if [ -z "$group" ]; then
    echo gone
    exit
fi
case $to in
leader) whom=$p ;;
group) whom=-$p ;;
terminal)
    if [ "${terminal:-0}" -le 1 ]; then
        echo nobody
        exit
    fi
    whom=-$terminal
    ;;
esac
if kill -s "$s" -- "$whom" 2>/dev/null; then
    echo sent
elif [ -d /proc/"${whom#-}" ] || ps -p "${whom#-}" >/dev/null 2>&1; then
    echo denied
else
    echo nobody
fi
