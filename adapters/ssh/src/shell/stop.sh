# The ladder, from polite to forced. Given besides: g, the grace; f, how long force is tried after it; in hundredths of
# a second.

# Sets t to a clock in hundredths of a second.
now() {
    if read -r t rest </proc/uptime; then
        t=${t%.*}${t#*.}
        while :; do case $t in 0?*) t=${t#0} ;; *) break ;; esac; done
    else
        t=$(($(date +%s) * 100))
    fi 2>/dev/null
}

nap() {
    sleep "$1" 2>/dev/null </dev/null || sleep 1
}

send() {
    signal=$1
    shift
    [ $# -gt 0 ] && kill -s "$signal" -- "$@" 2>/dev/null
}

# Sets P to the numbers of L without those in $1, and adds them all to it.
fresh() {
    P=
    for x in $L; do
        case " $1 " in *" $x "*) ;; *) P="$P ${x%%:*}" ;; esac
    done
}

# Whoever is stopped can start nobody, and what it had started before is in the next look, after which it can be
# killed, and none has slipped away. A group is stopped and killed as one: no fork comes in between.
force() {
    for q in $G; do
        case " $frozen_groups " in
        *" $q "*) send KILL "-$q" ;;
        *) send STOP "-$q" && frozen_groups="$frozen_groups $q" ;;
        esac
    done
    fresh "$frozen"
    again=
    for x in $L; do
        case " $frozen " in *" $x "*) again="$again ${x%%:*}" ;; esac
    done
    send STOP $P
    send KILL $again
    frozen="$frozen $L"
}

climb() {
    asked= frozen= frozen_groups= clean=0 pause=0.01
    now
    begun=$t
    while :; do
        scan
        if [ -z "${L# }" ]; then
            clean=$((clean + 1))
            [ "$clean" -ge 3 ] && return
            nap 0.003
            continue
        fi
        clean=0
        now
        if [ $((t - begun)) -lt "$g" ]; then
            fresh "$asked"
            send HUP $P
            send CONT $P
            send TERM $P
            asked="$asked $L"
            nap $pause
            pause=0.03
        elif [ $((t - begun)) -lt $((g + f)) ]; then
            force
            nap 0.003
        else
            for q in $G; do send KILL "-$q"; done
            for x in $L; do send KILL "${x%%:*}"; done
            return
        fi
    done
}

climb
if [ -n "${L# }" ]; then
    echo left $L
elif whole_view; then
    echo confirmed
else
    echo hidden
fi
