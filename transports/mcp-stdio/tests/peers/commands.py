"""One-shot commands: success, failure, a time limit, and a call that the client takes back."""

import os

import anyio
from peer import Process, run, step


async def scenario(peer):
    assert await peer.call("execute_command", command="echo out; echo err >&2", client_token="local") == {
        "stdout": "out\n",
        "stderr": "err\n",
        "exit_code": 0,
        "timed_out": False,
        "canceled": False,
        "truncated": False,
    }
    step("a command gives both streams and its exit code")

    given = {"command": 'cat; echo "$GREETING from $PWD"', "stdin": "typed\n", "env": {"GREETING": "hi"}, "cwd": "/tmp"}
    assert (await peer.call("execute_command", **given, client_token="local"))["stdout"] == "typed\nhi from /tmp\n"
    step("input, environment and directory are as given")

    failed = await peer.failure("execute_command", command="echo no; exit 3", client_token="local")
    assert (failed["stdout"], failed["exit_code"], failed["canceled"]) == ("no\n", 3, False), failed
    step("a command that fails has its whole result")

    limited = await peer.failure(
        "execute_command", command="echo begun; sleep 1000", client_token="local", timeout_ms=300
    )
    assert (limited["stdout"], limited["exit_code"], limited["timed_out"]) == ("begun\n", -1, True), limited
    step("a time limit ends a command, and what it printed is there")

    await is_taken_back(peer)


async def is_taken_back(peer):
    pipe = peer.folder / "pid"
    os.mkfifo(pipe)
    command = f"sleep 1000 & echo $$ $! >{pipe}; wait"
    async with anyio.create_task_group() as calls:
        arguments = {"command": command, "client_token": "local"}
        calls.start_soon(peer.client.call_tool, "execute_command", arguments)
        pids = (await anyio.to_thread.run_sync(pipe.read_text)).split()
        processes = [Process(int(pid)) for pid in pids]
        calls.cancel_scope.cancel()
    for process in processes:
        assert await process.gone()
    step("a call that the client takes back ends its command, children included")

    assert (await peer.call("execute_command", command="echo still here", client_token="local"))["exit_code"] == 0
    step("the connection goes on")


run(scenario)
