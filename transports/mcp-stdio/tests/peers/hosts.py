"""SSH hosts: connections, commands that outlast a call, and sessions there, on a server that we did not write.

The hosts `box` (named by the server's configuration) and `web` (by the SSH client's) are one machine.
"""

from peer import LONGEST_WAIT, run, step


async def scenario(peer):
    await hosts_are_listed(peer)
    await connections_are_made(peer)
    await commands_run(peer)
    await a_command_outlasts_its_call(peer)
    await output_is_read_by_lines(peer)
    await what_is_wrong_is_said(peer)
    await sessions_and_one_shots_work_there_too(peer)
    await handles_end_with_their_connection(peer)


async def hosts_are_listed(peer):
    names = [tool.name for tool in (await peer.client.list_tools()).tools]
    assert len(names) == 18 and names.count("ssh_cmd_run") == 1, names
    hosts = (await peer.call("ssh_host_list"))["hosts"]
    assert [host["key"] for host in hosts] == ["box", "web"], hosts
    assert hosts[0] == {"key": "box", "description": "builds", "source": "configuration"}, hosts
    assert hosts[1]["source"].startswith("/"), hosts
    targets = (await peer.call("list_clients"))["clients"]
    assert [target["name"] for target in targets] == ["local", "box", "web"], targets
    step("the tools of hosts are there, and say which hosts there are and who names them")


async def connections_are_made(peer):
    assert (await peer.call("ssh_conn_status"))["connections"] == []
    kind, message = await peer.refusal("ssh_cmd_run", command="true")
    assert kind == "failed_precondition" and "ssh_host_list" in message, message
    connected = await peer.call("ssh_conn_connect", host_name="box")
    assert connected["status"] == "connected" and connected["connected_to"] == "box", connected
    assert (connected["user"], connected["host"], connected["os_type"]) == ("alice", "127.0.0.1", "linux"), connected
    assert "OpenSSH" in connected["server_version"] and connected["auth_method"] == "publickey", connected
    assert connected["host_key"]["fingerprint"].startswith("SHA256:"), connected
    assert connected["hops"] == [], connected
    assert (await peer.call("ssh_conn_connect", host_name="box"))["status"] == "already_connected"
    status = (await peer.call("ssh_conn_status"))["connections"]
    assert [(one["host_name"], one["connected"]) for one in status] == [("box", True)], status
    step("a host is connected once, and says what is there")


async def commands_run(peer):
    ran = await peer.call("ssh_cmd_run", command="echo $$; echo err >&2")
    assert ran["status"] == "success" and ran["exit_code"] == 0 and ran["host_name"] == "box", ran
    assert (ran["output"], ran["stderr"]) == (f"{ran['pid']}\n", "err\n"), ran
    assert ran["id"] == ran["handle_id"] and ran["start_time"] <= ran["end_time"] and not ran["still_running"], ran
    step("a command on the one connected host has its streams, its exit code and its pid")

    failed = await peer.failure("ssh_cmd_run", command="exit 42", host_name="web")
    assert (failed["status"], failed["exit_code"]) == ("command_failed", 42), failed
    given = {"command": 'cat; echo "$GREETING from $PWD"', "stdin": "typed\n", "env": {"GREETING": "hi"}, "cwd": "/tmp"}
    assert (await peer.call("ssh_cmd_run", **given, host_name="web"))["output"] == "typed\nhi from /tmp\n"
    missing = await peer.failure("ssh_cmd_run", command="touch ran", cwd="/nowhere", host_name="box")
    assert missing["status"] == "cwd_not_found" and "handle_id" not in missing and missing["next_step"], missing
    step("a failure is a result, and input, environment and directory are as given")


async def a_command_outlasts_its_call(peer):
    command = "trap '' TERM; echo begun; while :; do sleep 1; done"
    begun = await peer.call("ssh_cmd_run", command=command, io_timeout=0.5, host_name="box")
    assert begun["status"] == "io_timeout" and begun["still_running"] and begun["output"] == "begun\n", begun
    handle = {"handle_id": begun["handle_id"]}
    running = await peer.call("ssh_cmd_check_status", **handle, wait_seconds=0)
    assert running["status"] == "running" and "exit_code" not in running, running
    assert await peer.call("ssh_cmd_output", **handle) == {"result": ["begun"]}
    survived = await peer.failure("ssh_cmd_kill", **handle, force=False, wait_seconds=0.5)
    assert survived["result"] == "failed_to_kill", survived
    killed = await peer.call("ssh_cmd_kill", **handle, wait_seconds=0.2)
    assert (killed["result"], killed["force_kill_used"]) == ("killed", True), killed
    assert (await peer.call("ssh_cmd_check_status", **handle))["status"] == "killed"
    assert (await peer.call("ssh_cmd_kill", **handle))["result"] == "not_running"
    step("a command goes on after its call, and is killed with all that it started")

    limited = await peer.failure("ssh_cmd_run", command="sleep 1000", runtime_timeout=0.5, host_name="box")
    assert limited["status"] == "runtime_timeout" and not limited["still_running"], limited
    step("a time limit ends a command")


async def output_is_read_by_lines(peer):
    ran = await peer.call("ssh_cmd_run", command="seq 1 20000", host_name="box")
    assert ran["output_truncated"] and ran["output_lines"] == 20_000, (ran["output_truncated"], ran["output_lines"])
    assert ran["output"].endswith("\n20000\n") and len(ran["output"]) <= 32_768
    assert "start_line 1" in ran["output_note"], ran["output_note"]
    handle = {"handle_id": ran["handle_id"]}
    newest = (await peer.call("ssh_cmd_output", **handle))["result"]
    assert newest == [str(number) for number in range(19_951, 20_001)], newest
    assert (await peer.call("ssh_cmd_output", **handle, lines=2))["result"] == ["19999", "20000"]
    assert (await peer.call("ssh_cmd_output", **handle, lines=2, start_line=7))["result"] == ["7", "8"]
    assert (await peer.call("ssh_cmd_output", **handle, start_line=20_001))["result"] == []
    assert (await peer.call("ssh_cmd_output", **handle, stream="stderr"))["result"] == []
    step("lines are read from the end, from the middle and behind the end")

    history = (await peer.call("ssh_cmd_history", limit=1, include_output=True, output_lines=1))["result"]
    assert [(one["handle_id"], one["output"]) for one in history] == [(ran["handle_id"], ["20000"])], history
    assert "output" not in (await peer.call("ssh_cmd_history", pattern="^seq"))["result"][0]
    step("the history has it with its last line")


async def what_is_wrong_is_said(peer):
    for tool in ("ssh_cmd_output", "ssh_cmd_kill"):
        kind, message = await peer.refusal(tool, handle_id=1)
        assert kind == "not_found" and "ssh_cmd_history" in message, message
    assert (await peer.call("ssh_cmd_check_status", handle_id=1))["status"] == "not_found"
    kind, message = await peer.refusal("ssh_cmd_run", command="true", host_name="nowhere")
    assert kind == "not_found" and "nowhere" in message, message
    kind, message = await peer.refusal("ssh_cmd_run", command="true", host_name="local")
    assert kind == "unsupported", message
    kind, message = await peer.refusal("ssh_cmd_run", command="id", host_name="box", use_sudo=True)
    assert kind == "unsupported" and "sudo -n" in message, message
    kind, message = await peer.refusal("ssh_cmd_run", command="true")
    assert kind == "failed_precondition" and "box" in message and "web" in message, message
    step("unknown handles and hosts, targets that are no hosts, and a host that is not named are refused with advice")


async def sessions_and_one_shots_work_there_too(peer):
    shot = await peer.call("execute_command", command="whoami", client_token="web")
    assert shot["stdout"] == "alice\n", shot
    until = {"pattern": "ready"}
    started = await peer.call(
        "session_start", command="echo ready; exec cat", client_token="box", wait_ms=LONGEST_WAIT, until=until
    )
    session = {"session_id": started["session_id"], "client_token": "box"}
    typed = await peer.call("session_write", **session, input="x\n", wait_ms=LONGEST_WAIT, until={"pattern": "x\r\nx\r\n"})
    assert typed["output"].endswith("x\r\nx\r\n"), typed
    stopped = await peer.call("session_stop", **session, wait_ms=LONGEST_WAIT)
    assert stopped["status"] == "stopped", stopped
    step("sessions and one-shot commands take a host as their target")


async def handles_end_with_their_connection(peer):
    ran = await peer.call("ssh_cmd_run", command="echo kept", host_name="box")
    left = await peer.call("ssh_cmd_run", command="sleep 1000", host_name="box", wait_timeout=0)
    gone = await peer.call("ssh_host_disconnect", host_name="box")
    assert (gone["status"], gone["stopped"], gone["disconnected_from"]) == ("disconnected", 1, "box"), gone
    assert (await peer.call("ssh_cmd_output", handle_id=ran["handle_id"]))["result"] == ["kept"]
    assert (await peer.call("ssh_cmd_check_status", handle_id=left["handle_id"]))["status"] != "running"
    assert not (await peer.call("ssh_host_disconnect", host_name="box"))["was_connected"]
    await peer.call("ssh_conn_connect", host_name="box")
    assert (await peer.call("ssh_cmd_check_status", handle_id=ran["handle_id"]))["status"] == "not_found"
    step("a handle is good until its host is connected again")

    assert (await peer.call("ssh_cmd_clear_history"))["cleared_entries"] >= 1
    assert (await peer.call("ssh_cmd_history"))["result"] == []
    step("the history is cleared")


run(scenario)
