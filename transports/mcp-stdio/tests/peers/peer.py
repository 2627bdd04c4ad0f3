"""What the peer scripts share: a server under the official Python client, and calls that read as sentences.

Each script is called with the server's binary, the protocol era ("legacy" or "2026-07-28") and, where the server has
one, its configuration file. With SESSIOND_CONNECT=auto the binary is a bridge, and the server behind it ends with the
script. sessiond-mcp-http is asked over HTTP, with a key that it has made; the others on their standard streams.
"""

import os
import select
import signal
import socket
import struct
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

# Scripts take seconds; one that hangs says where instead of blocking the suite, also on a machine under load.
LIMIT_SECONDS = 180

# The prompt of the shells that scripts start, so that they can wait for it.
PROMPT = "peer> "

# A lasting shell as an agent starts it, without the habits of this machine's user.
SHELL = {"command": "exec bash --norc --noprofile -i", "client_token": "local", "env": {"PS1": PROMPT}}

LONGEST_WAIT = 20_000


def step(text):
    """Says what has been seen; the test shows it when something fails."""
    print(f"ok: {text}", flush=True)


class Peer:
    """One connection of the official client to our server."""

    def __init__(self, client, folder):
        self.client = client
        self.folder = folder

    async def call(self, tool, **arguments):
        """The structured content of a call that succeeds. The client has held it against the tool's schema."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, (tool, arguments, result)
        return result.structured_content

    async def failure(self, tool, **arguments):
        """The structured content of a call whose command failed: a result, though marked as an error."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, (tool, arguments, result)
        assert result.structured_content is not None, result
        return result.structured_content

    async def refusal(self, tool, **arguments):
        """The kind and the message of a call that is refused."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, (tool, arguments, result)
        assert result.structured_content is None, result
        return result.meta["sessiond/error"], result.content[0].text

    async def start_shell(self):
        """A lasting shell that shows its prompt. Returns what names it in later calls."""
        until = {"pattern": PROMPT}
        started = await self.call("session_start", **SHELL, wait_ms=LONGEST_WAIT, until=until)
        assert started["output"].endswith(PROMPT), started
        return {"session_id": started["session_id"], "client_token": "local"}

    async def type(self, shell, line, pattern=PROMPT):
        """Types a line and returns what the terminal shows from then on, its echo first, until a pattern matches."""
        until = {"pattern": pattern}
        wrote = await self.call("session_write", **shell, input=line + "\n", wait_ms=LONGEST_WAIT, until=until)
        assert wrote["accepted"] and wrote["bytes"] == len(line.encode()) + 1, wrote
        return wrote["output"]

    async def chain(self, session, cursor=0, max_bytes=16_384, to=None):
        """Reads from a cursor on, piece by piece, until `to` or the end of what there is. Yields every answer."""
        while to is None or cursor < to:
            read = await self.call("session_read", **session, cursor=cursor, max_bytes=max_bytes)
            yield read
            if read["done"] or read["next_cursor"] == cursor:
                return
            cursor = read["next_cursor"]


def run(scenario):
    """Runs a scenario against the server and era that the command line names.

    The scenario may return processes that it has left running: they must be gone once the server has ended.
    """
    server, era, *configuration = sys.argv[1:]
    anyio.run(_run, scenario, server, era, configuration)


async def _run(scenario, server, era, configuration):
    with tempfile.TemporaryDirectory() as folder, anyio.fail_after(LIMIT_SECONDS):
        # A home of its own: no configuration and no history of this machine's user. Line editing there says nothing to
        # a terminal that nobody looks at, so that output is what programs print.
        Path(folder, ".inputrc").write_text("set enable-bracketed-paste off\n")
        env = {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_RUNTIME_DIR": folder, "SHELL": "/bin/sh"}
        if "SESSIOND_CONNECT" in os.environ:
            env["SESSIOND_CONNECT"] = os.environ["SESSIOND_CONNECT"]
        args = ["--config", *configuration] if configuration else []
        way = over_http if Path(server).name == "sessiond-mcp-http" else over_stdio
        async with upstream("SESSIOND_CONNECT" in env, folder):
            async with way([server, *args], env, folder) as transport:
                async with Client(transport, mode=era) as client:
                    spoken = client.protocol_version
                    assert spoken == ("2025-11-25" if era == "legacy" else era), spoken
                    step(f"the client speaks {spoken}")
                    left = await scenario(Peer(client, Path(folder))) or []
        for process in left:
            assert await process.gone()
    step(f"the connection is closed, and {len(left)} processes with it")


@asynccontextmanager
async def over_stdio(command, env, folder):
    """A server that the client starts."""
    yield StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=folder)


@asynccontextmanager
async def over_http(command, env, folder):
    """A server that listens, until the client has left."""
    made = await anyio.run_process([command[0], "key", "new", "peer", "--role", "full"], env=env)
    made = made.stdout.decode()
    key = next(word for word in made.split() if word.startswith("sdk_"))
    keys = Path(folder, "keys.toml")
    keys.touch(mode=0o600)
    keys.write_text(made[made.index("[keys.peer]") :])
    env = {**env, "SESSIOND_NETWORK__KEYS_FILE": str(keys)}
    command = [*command, "--listen", "127.0.0.1:0"]
    async with await anyio.open_process(command, env=env, cwd=folder, stderr=None) as server:
        said = (await server.stdout.receive()).decode()
        url = said.removeprefix("listening on ").strip()
        timeout = httpx2.Timeout(30, read=300)
        try:
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=timeout) as client:
                yield streamable_http_client(url, http_client=client)
        finally:
            server.terminate()
            with anyio.CancelScope(shield=True):
                assert await server.wait() == 0, server.returncode
        step("the server has ended on SIGTERM")


def upstream_of(folder):
    """The server that answers on the socket in this runtime directory, as the kernel says."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(Path(folder, "sessiond.sock")))
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[0]


@asynccontextmanager
async def upstream(there, folder):
    """Ends the server that bridges have started, when there is to be one."""
    try:
        yield
    finally:
        if there:
            pid = upstream_of(folder)
            process = Process(pid)
            os.kill(pid, signal.SIGTERM)
            with anyio.CancelScope(shield=True):
                assert await process.gone()


class Process:
    """A process that a session has started, held so that its number cannot come to mean another one."""

    def __init__(self, pid):
        self.handle = os.pidfd_open(pid)

    async def gone(self, seconds=10):
        """Whether it has ended, at the latest after so many seconds."""

        def wait():
            poll = select.poll()
            poll.register(self.handle, select.POLLIN)
            return bool(poll.poll(seconds * 1000))

        return await anyio.to_thread.run_sync(wait)
