# Who belongs to a process. Given: m, the mark or what it begins with; l, the leaders as pid:start:last, where last is
# the latest start of whoever may still be in the session of one that has ended. Times are clock ticks since the
# machine's start, empty where nobody knows.
LC_ALL=C
export LC_ALL
set -f
k=
case $(printf 'a\000b\n' | grep -c b 2>/dev/null) in
1) nul=whole ;;
*) nul=split ;;
esac

# The environments that hold the mark. A grep that ends at a NUL is handed lines.
marked() {
    if [ "$nul" = whole ]; then
        set +f
        grep -ls "SESSIOND_SESSION=$m" /proc/[0-9]*/environ
        set -f
        return
    fi
    set +f
    for e in /proc/[0-9]*/environ; do
        tr '\000' '\n' <"$e" | grep -q "^SESSIOND_SESSION=$m" && echo "$e"
    done
    set -f
}

# All processes: those with the mark, then everybody.
everybody() {
    # Not as an argument: ps would show it.
    echo "mark SESSIOND_SESSION=$m"
    if [ -r /proc/self/stat ]; then
        marked
        set +f
        cat /proc/[0-9]*/stat
        set -f
    else
        ps axeww -o pid=,ppid=,pgid=,sess=,stat=,command=
    fi 2>/dev/null </dev/null
}

# Sets L to the living members as pid:start, and G to the groups that only members are in. Whoever was a member stays
# one (k). Descent is followed through whoever is there.
scan() {
    r=$(everybody | awk -v l="$l" -v k="$k" '
        function take(p, state, parent, group, session, start) {
            order[++count] = p; states[p] = state; parents[p] = parent
            groups[p] = group; sessions[p] = session; starts[p] = start
        }
        # Whether the number is still that of a leader, or of the session that it has left.
        function led(number, p) {
            if (!(number in lead) || number in taken) return 0
            if (lead[number] == "" || starts[p] == "") return 1
            return starts[p] + 0 >= lead[number] + 0 && (last[number] == "" || starts[p] + 0 <= last[number] + 0)
        }
        BEGIN {
            n = split(l, a, " ")
            for (i = 1; i <= n; i++) { split(a[i], b, ":"); lead[b[1]] = b[2]; last[b[1]] = b[3] }
            n = split(k, a, " ")
            for (i = 1; i <= n; i++) known[a[i]] = 1
        }
        NR == 1 { m = $2; next }
        /^\/proc\/[0-9]+\/environ$/ && held == "" { split($0, a, "/"); with_mark[a[3]] = 1; next }
        # A name may have a newline in it.
        held != "" { $0 = held "\n" $0; held = "" }
        /^[0-9]+ \(/ {
            if ($0 !~ /\) [A-Za-z] -?[0-9]+ -?[0-9]+ /) { held = $0; next }
            p = $1
            sub(/^.*\) /, "")
            take(p, $1, $2, $3, $4, $20)
            next
        }
        /^ *[0-9]+ +[0-9]+ +[0-9]+ / {
            take($1, $5, $2, $3, $4, "")
            if (index($0, m)) with_mark[$1] = 1
        }
        END {
            for (p in lead)
                if (p in starts && lead[p] != "" && starts[p] != "" && starts[p] != lead[p]) taken[p] = 1
            for (i = 1; i <= count; i++) {
                p = order[i]
                if (p in with_mark || (p ":" starts[p]) in known || led(p, p) || led(sessions[p], p) || led(groups[p], p))
                    member[p] = 1
            }
            do {
                more = 0
                for (i = 1; i <= count; i++) {
                    p = order[i]
                    if (!(p in member) && parents[p] in member) { member[p] = 1; more = 1 }
                }
            } while (more)
            for (i = 1; i <= count; i++) {
                p = order[i]
                if (!(p in member) || states[p] ~ /^[ZXx]/) continue
                living = living " " p ":" starts[p]
                s = sessions[p]
                if (s in member || led(s, p) || !(s in starts)) whole[groups[p]] = 1
            }
            for (g in whole) if (g > 1) together = together " " g
            print living ";" together
        }')
    L=${r%%;*}
    G=${r#*;}
    k=$L
}

# Whether everything can be seen here: else nobody can tell that nobody is left.
whole_view() {
    [ -r /proc/1/stat ] || ! [ -r /proc/self/stat ]
}
