"""A full-screen program that says how large its screen is and which key was pressed; `q` ends it."""

import curses
import os
import select
import signal


def main(screen):
    screen.nodelay(True)
    pressed = "none"
    while pressed != "q":
        rows, columns = screen.getmaxyx()
        # Everything is drawn anew: a program that draws changes only would print pieces of what it shows.
        screen.clear()
        screen.addstr(0, 0, f"{columns} columns, {rows} rows")
        screen.addstr(rows - 1, 0, f"pressed {pressed}.")
        screen.refresh()
        ready, _, _ = select.select([0, changes], [], [])
        if changes in ready:
            os.read(changes, 64)
            columns, rows = os.get_terminal_size()
            curses.resizeterm(rows, columns)
        if 0 in ready:
            pressed = name(screen)


def name(screen):
    """The name of the next key that is not the library's own word for a change of size."""
    while (key := screen.getch()) in (curses.ERR, curses.KEY_RESIZE):
        pass
    return curses.keyname(key).decode()


# A change of size is a byte in a pipe, so that one between two waits is not missed, as the library's own handler does.
changes, change = os.pipe()
os.set_blocking(change, False)
signal.signal(signal.SIGWINCH, lambda *_: None)
signal.set_wakeup_fd(change, warn_on_full_buffer=False)
curses.wrapper(main)
