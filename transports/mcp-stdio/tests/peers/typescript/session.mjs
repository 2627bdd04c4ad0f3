// A whole session as an agent has it: start, read, write, interrupt, resize, end of input, list, stop.

import assert from "node:assert/strict";
import { LONGEST_WAIT, PROMPT, Process, run, step } from "./peer.mjs";

async function scenario(peer) {
  const { tools } = await peer.client.listTools();
  const names = tools.map((tool) => tool.name).sort();
  assert.deepEqual(names, [
    "execute_command",
    "list_clients",
    "session_control",
    "session_list",
    "session_read",
    "session_start",
    "session_stop",
    "session_write",
  ]);
  assert.ok(tools.every((tool) => tool.outputSchema && tool.annotations && tool.description));
  step("the tools are listed, and all say what they give back");

  const { clients } = await peer.call("list_clients");
  assert.deepEqual(
    clients.map((client) => [client.client_token, client.backend, client.status]),
    [["local", "pty", "online"]],
  );
  step("the one target is this machine, and it is online");

  const shell = await peer.startShell();
  const shown = await peer.type(shell, "echo $((6 * 7)) grüße €");
  assert.ok(shown.includes("\r\n42 grüße €\r\n"), shown);
  step("what is typed runs, and the answer waits for the next prompt");

  await readsInAChain(peer, shell);
  await isSteered(peer, shell);
  await seesTheEndOfItsInput(peer);
  await isListed(peer, shell);
  await isStopped(peer, shell);
  return leavesSomethingRunning(peer);
}

async function readsInAChain(peer, shell) {
  const whole = await peer.call("session_read", shell);
  assert.equal(whole.next_cursor, Buffer.byteLength(whole.output));
  for (const max_bytes of [4, 7, 64]) {
    let [joined, cursor] = ["", 0];
    while (cursor < whole.next_cursor) {
      const read = await peer.call("session_read", { ...shell, cursor, max_bytes });
      assert.ok(Buffer.byteLength(read.output) <= max_bytes && !read.truncated && !read.done, JSON.stringify(read));
      joined += read.output;
      cursor = read.next_cursor;
    }
    assert.equal(joined, whole.output);
  }
  assert.deepEqual(await peer.call("session_read", shell), whole);
  step("a chain of small reads is the same as one read, and nothing is consumed");
}

async function isSteered(peer, shell) {
  await peer.type(shell, "sh -c \"echo run''ning; exec sleep 1000\"", "running\r\n$");
  await peer.act("session_control", shell, { action: "interrupt" }, `${PROMPT}$`);
  assert.ok((await peer.type(shell, "echo code=$?")).includes("\r\ncode=130\r\n"));
  step("an interrupt ends sleep and leaves the shell");

  const resized = await peer.call("session_control", { ...shell, action: "resize", cols: 100, rows: 40 });
  assert.ok(resized.accepted, JSON.stringify(resized));
  await peer.type(shell, "stty size", "40 100\r\n");
  step("a resize reaches the terminal");
}

async function seesTheEndOfItsInput(peer) {
  const given = { command: "cat", client_token: "local", label: "a copy" };
  const cat = { session_id: (await peer.call("session_start", given)).session_id, client_token: "local" };
  await peer.type(cat, "hello", "hello\r\nhello\r\n");
  const end = { wait_ms: LONGEST_WAIT, until: { end: true } };
  const ended = await peer.call("session_control", { ...cat, action: "eof", ...end });
  assert.ok(ended.accepted && ended.done, JSON.stringify(ended));
  assert.deepEqual(await peer.call("session_read", cat), {
    session_id: cat.session_id,
    output: "hello\r\nhello\r\n",
    next_cursor: 14,
    truncated: false,
    done: true,
    exit_code: 0,
    timed_out: false,
    canceled: false,
  });
  step("the end of input ends cat, and its output stays readable");
}

async function isListed(peer, shell) {
  const { sessions } = await peer.call("session_list");
  assert.deepEqual(
    sessions.map(({ status, label, exit_code }) => [status, label, exit_code]),
    [
      ["running", undefined, undefined],
      ["finished", "a copy", 0],
    ],
  );
  assert.equal(sessions[0].session_id, shell.session_id);
  step("the list has the running shell first, then what has finished");
}

async function isStopped(peer, shell) {
  const shown = await peer.type(shell, "(setsid sleep 1000 & echo left=$!)", `left=\\d+\r\n[\\s\\S]*${PROMPT}$`);
  const left = new Process(Number(/left=(\d+)/.exec(shown)[1]));
  const stopped = await peer.call("session_stop", { ...shell, wait_ms: LONGEST_WAIT });
  assert.deepEqual([stopped.accepted, stopped.status, stopped.done], [true, "stopped", true]);
  assert.deepEqual([stopped.canceled, stopped.timed_out], [true, false]);
  assert.ok(left.gone());
  step("a stop is confirmed, and a child that left the session is gone too");

  const again = await peer.call("session_stop", shell);
  assert.deepEqual([again.accepted, again.already_done, again.status], [false, true, "stopped"]);
  const { sessions } = await peer.call("session_list", { status: "running" });
  assert.deepEqual(sessions, []);
  step("stopping again is no error, and nothing runs");
}

async function leavesSomethingRunning(peer) {
  const shell = await peer.startShell();
  const deaf = "(trap '' HUP TERM; exec sleep 1000)";
  const shown = await peer.type(shell, `${deaf} & echo left=$!; (setsid sleep 1000 & echo left=$!); echo left=$$`);
  const numbers = [...shown.matchAll(/\nleft=(\d+)/g)].map(([, pid]) => Number(pid));
  assert.equal(numbers.length, 3, shown);
  step("a shell, a child that left it and one that is deaf to every request are left for the end of the connection");
  return numbers.map((pid) => new Process(pid));
}

await run(scenario);
