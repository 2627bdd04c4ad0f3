"""sessiond over gRPC from Python: scenes that a test runs, and an example of each kind of call.

Usage: session.py ADDRESS SCENE, with stubs on PYTHONPATH that this makes from `proto/`:

    python -m grpc_tools.protoc --proto_path=proto --python_out=. --grpc_python_out=. proto/sessiond/v1/*.proto
"""

import queue
import sys

import grpc
from google.protobuf.duration_pb2 import Duration
from grpc_health.v1 import health_pb2, health_pb2_grpc
from sessiond.v1 import command_pb2, command_pb2_grpc, output_pb2, session_pb2, session_pb2_grpc
from sessiond.v1 import target_pb2, target_pb2_grpc

LONG = Duration(seconds=20)


class Sessiond:
    """The stubs of one connection."""

    def __init__(self, channel):
        self.sessions = session_pb2_grpc.SessionServiceStub(channel)
        self.commands = command_pb2_grpc.CommandServiceStub(channel)
        self.targets = target_pb2_grpc.TargetServiceStub(channel)
        self.health = health_pb2_grpc.HealthStub(channel)

    def start(self, command):
        what = output_pb2.Invocation(command=command)
        started = self.sessions.StartSession(session_pb2.StartSessionRequest(target="local", start=what))
        return session_pb2.SessionRef(session_id=started.session_id, target="local")

    def read(self, session, pattern=None, timeout=None):
        until = output_pb2.Until(pattern=pattern) if pattern else None
        wait = output_pb2.Wait(time=LONG, until=until)
        request = session_pb2.ReadSessionRequest(session=session, wait=wait)
        return self.sessions.ReadSession(request, timeout=timeout).read

    def follow(self, session, **options):
        return self.sessions.FollowSession(session_pb2.FollowSessionRequest(session=session), **options)


def session(server):
    check = server.health.Check(health_pb2.HealthCheckRequest(service="sessiond.v1.SessionService"))
    assert check.status == health_pb2.HealthCheckResponse.SERVING, check
    targets = server.targets.ListTargets(target_pb2.ListTargetsRequest()).targets
    assert [target.name for target in targets] == ["local"], targets

    shell = server.start("echo ready; read -r line; echo got $line; printf '\\303'; exit 3")
    read = server.read(shell, "ready\r\n")
    assert (read.slice.data, read.fired) == (b"ready\r\n", output_pb2.FIRED_PATTERN), read
    wrote = server.sessions.WriteSession(session_pb2.WriteSessionRequest(session=shell, input=b"h\xc3\xa9\r"))
    assert wrote.bytes == 4, wrote

    items = list(server.follow(shell))
    data = b"".join(item.chunk.data for item in items if item.HasField("chunk"))
    assert data.endswith(b"got h\xc3\xa9\r\n\xc3"), data
    assert items[-1].end.exited == 3, items[-1]
    assert not any(item.HasField("gap") for item in items), items

    listed = server.sessions.ListSessions(session_pb2.ListSessionsRequest()).sessions
    assert [one.status for one in listed] == [session_pb2.SESSION_STATUS_FINISHED], listed
    stopped = server.sessions.StopSession(session_pb2.StopSessionRequest(session=shell))
    assert stopped.already_done, stopped

    what = output_pb2.Invocation(command="cat; echo no >&2; exit 4")
    request = command_pb2.ExecuteCommandRequest(target="local", invocation=what, stdin=b"\xff\0")
    done = server.commands.ExecuteCommand(request)
    assert (done.stdout, done.stderr, done.end.exited) == (b"\xff\0", b"no\n", 4), done


def attach(server):
    shell = server.start("echo ready; read -r line; stty size; exit 5")
    requests = queue.SimpleQueue()
    follow = session_pb2.FollowSessionRequest(session=shell)
    requests.put(session_pb2.AttachSessionRequest(attach=follow))
    items = server.sessions.AttachSession(iter(requests.get, None))
    seen = b""
    for item in items:
        if item.HasField("end"):
            assert item.end.exited == 5, item
            break
        seen += item.chunk.data
        if seen == b"ready\r\n":
            size = session_pb2.WindowSize(cols=99, rows=33)
            requests.put(session_pb2.AttachSessionRequest(resize=size))
            requests.put(session_pb2.AttachSessionRequest(input=b"go\r"))
    requests.put(None)
    assert b"33 99" in seen, seen


def deadline(server):
    shell = server.start("cat")
    # The read is answered just before its caller gives up.
    read = server.read(shell, timeout=3)
    assert (read.slice.data, read.fired) == (b"", output_pb2.FIRED_DEADLINE), read
    try:
        for _ in server.follow(shell, timeout=0.3):
            raise AssertionError("cat has printed something")
        raise AssertionError("the stream has ended well")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, error
    assert server.read(shell, timeout=3).fired == output_pb2.FIRED_DEADLINE


def cancel(server):
    shell = server.start("cat")
    items = server.follow(shell)
    items.cancel()
    assert items.code() == grpc.StatusCode.CANCELLED, items.code()

    # The command writes into the session's terminal when it has begun, and would when it went on.
    pipe = server.start("mkfifo pipe; echo made; cat pipe; echo closed; cat")
    server.read(pipe, "made")
    what = output_pb2.Invocation(command="exec > pipe; echo begun; sleep 1000")
    call = server.commands.ExecuteCommand.future(command_pb2.ExecuteCommandRequest(target="local", invocation=what))
    server.read(pipe, "begun")
    assert call.cancel()
    # Whoever held the pipe open is gone.
    server.read(pipe, "closed")


def errors(server):
    def refused(call, request):
        try:
            call(request)
        except grpc.RpcError as error:
            return error.code(), error.details(), dict(error.trailing_metadata())["grpc-status-details-bin"]
        raise AssertionError("this was not refused")

    unknown = session_pb2.SessionRef(session_id="0" * 26, target="local")
    code, said, details = refused(server.sessions.ReadSession, session_pb2.ReadSessionRequest(session=unknown))
    assert code == grpc.StatusCode.NOT_FOUND, code
    assert said.startswith("no such session here"), said
    assert b"NOT_FOUND" in details and b"sessiond.v1" in details, details
    code, said, _ = refused(server.sessions.StartSession, session_pb2.StartSessionRequest(target="local"))
    assert (code, said) == (grpc.StatusCode.INVALID_ARGUMENT, "start is missing"), (code, said)
    shell = server.start("true")
    list(server.follow(shell))
    write = session_pb2.WriteSessionRequest(session=shell, input=b"x")
    code, _, details = refused(server.sessions.WriteSession, write)
    assert code == grpc.StatusCode.FAILED_PRECONDITION, code
    assert b"FAILED_PRECONDITION" in details, details


def main():
    address, scene = sys.argv[1:]
    # On a unix socket its name for the server would be the path, which is none that HTTP/2 servers in Rust take.
    options = [("grpc.default_authority", "localhost")]
    with grpc.insecure_channel(address, options=options) as channel:
        {"session": session, "attach": attach, "deadline": deadline, "cancel": cancel, "errors": errors}[scene](
            Sessiond(channel)
        )
    print(f"{scene}: ok")


if __name__ == "__main__":
    main()
