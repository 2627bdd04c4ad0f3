"""The bridge: sessions go on without their client, and a server that is killed is never mistaken for an end."""

import os
import signal
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from peer import LIMIT_SECONDS, LONGEST_WAIT, Peer, Process, step, upstream_of


class Bridge:
    """A runtime directory of its own, and clients of bridges that find their server there."""

    def __init__(self, program, era, folder):
        self.program, self.era, self.folder = program, era, Path(folder)

    @asynccontextmanager
    async def client(self):
        env = {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder), "SHELL": "/bin/sh"}
        parameters = StdioServerParameters(command=self.program, args=["--connect", "auto"], env=env, cwd=self.folder)
        async with Client(parameters, mode=self.era) as client:
            yield Peer(client, self.folder)

    def server(self):
        return upstream_of(self.folder)


async def scenario(bridge):
    async with bridge.client() as peer:
        started = await peer.call(
            "session_start", command="echo one; read -r line; echo got $line; exec cat", client_token="local",
            wait_ms=LONGEST_WAIT, until={"pattern": "one"},
        )
        session = {"session_id": started["session_id"], "client_token": "local"}
    step("a bridge starts a server where none runs, and a session there")
    first = bridge.server()

    async with bridge.client() as peer:
        listed = (await peer.call("session_list"))["sessions"]
        assert bridge.server() == first
        assert [one["session_id"] for one in listed] == [started["session_id"]], listed
        read = await peer.call("session_read", **session)
        assert read["output"] == "one\r\n" and not read["done"], read
        wrote = await peer.call(
            "session_write", **session, input="two\n", wait_ms=LONGEST_WAIT, until={"pattern": "got two"}
        )
        assert wrote["accepted"], wrote
        step("the next bridge finds the server and the session with its output, and goes on in it")

        gone = Process(first)
        async with anyio.create_task_group() as group:

            async def wait():
                refused = await peer.refusal(
                    "session_read", **session, cursor=read["next_cursor"] + 14, wait_ms=LONGEST_WAIT
                )
                assert refused[0] == "unavailable", refused

            group.start_soon(wait)
            # A second call is answered behind it: the first one waits in the server by then.
            await peer.call("list_clients")
            os.kill(first, signal.SIGKILL)
        assert await gone.gone()
        kind, message = await peer.refusal("session_read", **session)
        assert kind == "unavailable", (kind, message)
        step("a server that is killed is unavailable, also to the call that waits there")

        async with bridge.client() as other:
            # Without a handshake the first answer says that the bridge has its server.
            assert (await other.call("session_list"))["sessions"] == []
            second = bridge.server()
            assert second != first
            for client in (peer, other):
                kind, message = await client.refusal("session_read", **session)
                assert kind == "not_found", (kind, message)
        step("another bridge starts another, which knows nothing of the session, and the first bridge finds it too")

    ended = Process(second)
    os.kill(second, signal.SIGTERM)
    assert await ended.gone()
    step("the server ends when it is told to")


async def main():
    program, era = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, anyio.fail_after(LIMIT_SECONDS):
        bridge = Bridge(program, era, folder)
        try:
            await scenario(bridge)
        except BaseException:
            # What a scenario that fails has started must not stay.
            try:
                os.kill(bridge.server(), signal.SIGTERM)
            except OSError:
                pass
            raise


anyio.run(main)
