"""What is wrong with a call is said in a way that helps to make it right."""

from mcp import MCPError
from peer import LONGEST_WAIT, run, step


async def scenario(peer):
    started = await peer.call("session_start", command="exec cat", client_token="local")
    session = {"session_id": started["session_id"], "client_token": "local"}

    kind, message = await peer.refusal("session_read", session_id=session["session_id"])
    assert kind == "invalid_argument" and "client_token" in message, message
    step("a missing target is named")

    unknown = await peer.refusal("session_read", session_id="0" * 32, client_token="local")
    other_target = await peer.refusal("session_read", session_id=session["session_id"], client_token="elsewhere")
    assert unknown[0] == "not_found" and unknown == other_target, (unknown, other_target)
    step("an unknown session and a wrong target get one answer")

    kind, message = await peer.refusal("session_read", **session, curser=0)
    assert kind == "invalid_argument" and "curser" in message and "cursor" in message, message
    step("an unknown input is named, and the one that was meant")

    for wait_ms in (LONGEST_WAIT + 1, -1, 1.5):
        kind, message = await peer.refusal("session_read", **session, wait_ms=wait_ms)
        assert kind == "invalid_argument" and "wait_ms" in message and "20000" in message, message
    step("a wait out of range is refused with the range")

    kind, message = await peer.refusal("session_read", **session, wait_ms=1, until={"pattern": "("})
    assert kind == "invalid_argument", message
    kind, message = await peer.refusal("session_read", **session, cursor=-1)
    assert kind == "invalid_argument" and "cursor" in message, message
    kind, message = await peer.refusal("session_start", command="true", client_token="local", cwd="/nonexistent")
    assert "/nonexistent" in message, message
    assert len((await peer.call("session_list"))["sessions"]) == 1
    step("a pattern that does not compile, a negative cursor and a missing directory are refused, and leave nothing")

    try:
        result = await peer.client.call_tool("session_raed", {})
        message = result.content[0].text
        assert result.is_error, result
    except MCPError as error:
        message = str(error)
    assert "session_raed" in message, message
    step("an unknown tool is named")

    stopped = await peer.call("session_stop", **session, wait_ms=LONGEST_WAIT)
    assert stopped["status"] == "stopped", stopped
    kind, message = await peer.refusal("session_write", **session, input="late\n")
    assert kind == "failed_precondition", message
    step("nothing can be typed into what has ended")


run(scenario)
