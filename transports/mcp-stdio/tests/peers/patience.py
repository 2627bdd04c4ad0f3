"""Long waits report progress, answer when their time is up, and hold up nobody."""

import anyio
from peer import run, step

# Reports come every 10 s; this is the shortest wait with one.
WAIT = 11_000


async def scenario(peer):
    started = await peer.call("session_start", command="exec cat", client_token="local")
    session = {"session_id": started["session_id"], "client_token": "local"}
    reports = {"session_read": [], "execute_command": []}
    results = {}

    async def call(tool, **arguments):
        async def report(progress, total, message):
            reports[tool].append(progress)

        results[tool] = await peer.client.call_tool(tool, arguments, progress_callback=report)

    async with anyio.create_task_group() as calls:
        calls.start_soon(lambda: call("session_read", **session, wait_ms=WAIT))
        calls.start_soon(lambda: call("execute_command", command=f"sleep {WAIT // 1000}", client_token="local"))
        assert (await peer.call("session_read", **session))["output"] == ""
        assert not results
        step("a call that has nothing to wait for passes those that wait")

    read = results["session_read"].structured_content
    assert read == {
        "session_id": session["session_id"],
        "output": "",
        "next_cursor": 0,
        "truncated": False,
        "done": False,
    }, read
    step("a wait whose time is up is a success without output")

    assert results["execute_command"].structured_content["exit_code"] == 0
    # One each, unless the machine is so busy that a second takes longer.
    assert all(seen and seen == sorted(set(seen)) for seen in reports.values()), reports
    step("both waits reported on their way, and progress only rises")

    with anyio.move_on_after(0.2):
        await peer.client.call_tool("session_read", {**session, "wait_ms": WAIT})
    typed = await peer.call("session_write", **session, input="x\n", wait_ms=5_000, until={"pattern": "x\r\nx\r\n"})
    assert typed["output"] == "x\r\nx\r\n", typed
    step("a wait that the client takes back leaves the session as it was")


run(scenario)
