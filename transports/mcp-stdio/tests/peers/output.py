"""More output than is kept: what is lost is said, and a chain of reads is the rest, byte for byte."""

from peer import LONGEST_WAIT, run, step

KEPT = 1_048_576
LINES = 450_000
# What `seq` prints, as a terminal shows it.
PRINTED = "".join(f"{number}\r\n" for number in range(1, LINES + 1))


async def scenario(peer):
    assert len(PRINTED) > 3 * KEPT
    await after_the_end(peer)
    await while_it_runs(peer)


async def start(peer, command, **more):
    started = await peer.call("session_start", command=command, client_token="local", **more)
    return started, {"session_id": started["session_id"], "client_token": "local"}


async def after_the_end(peer):
    waited, session = await start(peer, f"seq 1 {LINES}", wait_ms=LONGEST_WAIT, until={"end": True})
    assert waited["done"] and waited["exit_code"] == 0, (waited["done"], waited.get("error"))
    assert waited["truncated"] and waited["output"] == PRINTED[-KEPT:]
    step("3 MiB are printed without a reader, and the newest 1 MiB of them is kept")

    pieces = [read async for read in peer.chain(session)]
    assert "".join(read["output"] for read in pieces) == PRINTED[-KEPT:]
    assert [read["truncated"] for read in pieces] == [True] + [False] * (len(pieces) - 1)
    assert [read["done"] for read in pieces] == [False] * (len(pieces) - 1) + [True]
    assert pieces[-1]["next_cursor"] == len(PRINTED)
    step("a chain from 0 says once that something is gone, gives the rest, and is done with the last byte")

    listed = (await peer.call("session_list"))["sessions"][0]
    bounds = (listed["output_start_cursor"], listed["output_end_cursor"])
    assert bounds == (len(PRINTED) - KEPT, len(PRINTED)), listed
    step("the list says what is kept")

    kind, message = await peer.refusal("session_read", **session, cursor=len(PRINTED) + 1)
    assert kind == "invalid_argument" and str(len(PRINTED)) in message, message
    step("a cursor behind the end is refused with the end")


async def while_it_runs(peer):
    _, session = await start(peer, f"seq 1 {LINES}")
    cursor, seen, done = 0, 0, False
    while not done:
        read = await peer.call("session_read", **session, cursor=cursor, wait_ms=LONGEST_WAIT)
        at = read["next_cursor"] - len(read["output"])
        assert read["output"] == PRINTED[at : read["next_cursor"]]
        assert read["truncated"] == (at > cursor)
        seen += len(read["output"])
        cursor, done = read["next_cursor"], read["done"]
    assert cursor == len(PRINTED) and KEPT <= seen <= cursor
    step("a reader beside a running program gets every byte at its place, or is told that it is gone")


run(scenario)
