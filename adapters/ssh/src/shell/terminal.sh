# How a terminal treats its input. Given: d, its device or nothing; p, the process whose terminal it is.
if [ -z "$d" ]; then
    d=/dev/$(ps -o tty= -p "$p" | tr -d ' ')
fi
if a=$(LC_ALL=C stty -a <"$d" 2>/dev/null); then
    echo modes $a
else
    echo gone
fi
