"""A whole session as an agent has it: start, read, write, resize, interrupt, keys, end of input, list, stop."""

from peer import LONGEST_WAIT, PROMPT, Process, run, step


async def scenario(peer):
    tools = {tool.name for tool in (await peer.client.list_tools()).tools}
    assert tools == {
        "list_clients",
        "execute_command",
        "session_start",
        "session_read",
        "session_write",
        "session_control",
        "session_stop",
        "session_list",
    }, tools
    step("the tools are listed")

    clients = (await peer.call("list_clients"))["clients"]
    assert [(c["client_token"], c["backend"], c["status"]) for c in clients] == [("local", "pty", "online")], clients
    step("the one target is this machine, and it is online")

    shell = await peer.start_shell()
    step("a lasting shell shows its prompt")

    shown = await peer.type(shell, "echo $((6 * 7)) grüße €")
    assert "\r\n42 grüße €\r\n" in shown, shown
    step("what is typed runs, and the answer waits for the next prompt")

    await reads_in_a_chain(peer, shell)
    await has_a_size(peer, shell)
    await can_be_interrupted(peer, shell)
    await takes_keys(peer, shell)
    await sees_the_end_of_its_input(peer)
    await is_listed(peer, shell)
    await is_stopped(peer, shell)
    return await leaves_something_running(peer)


async def reads_in_a_chain(peer, shell):
    whole = await peer.call("session_read", **shell)
    assert whole["next_cursor"] == len(whole["output"].encode()), whole
    for max_bytes in (4, 7, 64):
        pieces = [read async for read in peer.chain(shell, max_bytes=max_bytes, to=whole["next_cursor"])]
        assert all(len(read["output"].encode()) <= max_bytes and not read["truncated"] for read in pieces), pieces
        assert "".join(read["output"] for read in pieces) == whole["output"], max_bytes
        assert pieces[-1]["next_cursor"] == whole["next_cursor"], pieces[-1]
    assert whole == await peer.call("session_read", **shell)
    step("a chain of small reads is the same as one read, and nothing is consumed")


async def has_a_size(peer, shell):
    assert "\r\n24 80\r\n" in await peer.type(shell, "stty size")
    resized = await peer.call("session_control", **shell, action="resize", cols=100, rows=40)
    assert resized["accepted"], resized
    # Not until the next prompt: the shell draws its prompt anew when it hears of the size, whenever that is.
    assert (await peer.type(shell, "stty size", pattern="40 100\r\n")).endswith("\r\n40 100\r\n")
    step("a resize reaches the terminal")


async def can_be_interrupted(peer, shell):
    # Said by the job itself: by then it is the one in the foreground.
    await peer.type(shell, "sh -c \"echo run''ning; exec sleep 1000\"", pattern="running\r\n")
    until = {"pattern": PROMPT}
    interrupted = await peer.call(
        "session_control", **shell, action="interrupt", wait_ms=LONGEST_WAIT, until=until
    )
    assert interrupted["accepted"] and interrupted["output"].endswith(PROMPT), interrupted
    assert "\r\n130\r\n" in await peer.type(shell, "echo $?")
    step("an interrupt ends sleep and leaves the shell")


async def takes_keys(peer, shell):
    assert "\r\nkeys work\r\n" in await peer.type(shell, "echo keys ''work")
    until = {"pattern": "\nkeys work\r\n"}
    pressed = await peer.call(
        "session_control", **shell, action="keys", keys=["up", "enter"], wait_ms=LONGEST_WAIT, until=until
    )
    assert pressed["accepted"] and pressed["output"].endswith("\r\nkeys work\r\n"), pressed
    until = {"pattern": PROMPT}
    await peer.call("session_read", **shell, cursor=pressed["next_cursor"], wait_ms=LONGEST_WAIT, until=until)
    step("named keys bring back the last command")


async def sees_the_end_of_its_input(peer):
    started = await peer.call("session_start", command="cat", client_token="local", label="a copy")
    cat = {"session_id": started["session_id"], "client_token": "local"}
    until = {"pattern": "hello\r\nhello\r\n"}
    wrote = await peer.call("session_write", **cat, input="hello\n", wait_ms=LONGEST_WAIT, until=until)
    assert wrote["output"] == "hello\r\nhello\r\n", wrote
    ended = await peer.call("session_control", **cat, action="eof", wait_ms=LONGEST_WAIT, until={"end": True})
    assert ended["accepted"] and ended["done"], ended
    read = await peer.call("session_read", **cat)
    assert read == {
        "session_id": cat["session_id"],
        "output": "hello\r\nhello\r\n",
        "next_cursor": 14,
        "truncated": False,
        "done": True,
        "exit_code": 0,
        "timed_out": False,
        "canceled": False,
    }, read
    step("the end of input ends cat, and its output stays readable")


async def is_listed(peer, shell):
    sessions = (await peer.call("session_list"))["sessions"]
    assert [session["status"] for session in sessions] == ["running", "finished"], sessions
    assert sessions[0]["session_id"] == shell["session_id"], sessions
    assert sessions[1]["label"] == "a copy" and sessions[1]["exit_code"] == 0, sessions
    step("the list has the running shell first, then what has finished")


async def is_stopped(peer, shell):
    shown = await peer.type(shell, "(setsid sleep 1000 & echo $! >left); cat left")
    left = Process(int(shown.split("\r\n")[-2]))
    stopped = await peer.call("session_stop", **shell, wait_ms=LONGEST_WAIT)
    assert (stopped["accepted"], stopped["status"], stopped["done"]) == (True, "stopped", True), stopped
    assert stopped["canceled"] is True and stopped["timed_out"] is False, stopped
    assert await left.gone(seconds=0)
    step("a stop is confirmed, and a child that left the session is gone too")

    again = await peer.call("session_stop", **shell)
    assert (again["accepted"], again["already_done"], again["status"]) == (False, True, "stopped"), again
    step("stopping again is no error")


async def leaves_something_running(peer):
    shell = await peer.start_shell()
    shown = await peer.type(shell, "(setsid sleep 1000 & echo $!); (trap '' HUP; exec sleep 1000) & echo $!; echo $$")
    numbers = [int(line) for line in shown.split("\r\n") if line.isdigit()]
    assert len(numbers) == 3, shown
    step("a shell and two children that hear no hang-up are left for the end of the connection")
    return [Process(number) for number in numbers]


run(scenario)
