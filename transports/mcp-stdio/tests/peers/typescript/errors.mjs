// What is wrong with a call is said in a way that helps to make it right.

import assert from "node:assert/strict";
import { LONGEST_WAIT, run, step } from "./peer.mjs";

async function scenario(peer) {
  const [session] = await peer.start("echo ready; exec cat", "ready");

  const [missing, named] = await peer.refusal("session_read", { session_id: session.session_id });
  assert.equal(missing, "invalid_argument");
  assert.match(named, /client_token/);
  step("a missing target is named");

  const unknown = await peer.refusal("session_read", { session_id: "0".repeat(32), client_token: "local" });
  const elsewhere = await peer.refusal("session_read", { ...session, client_token: "elsewhere" });
  assert.equal(unknown[0], "not_found");
  assert.deepEqual(unknown, elsewhere);
  step("an unknown session and a wrong target get one answer");

  const [kind, message] = await peer.refusal("session_read", { ...session, curser: 0 });
  assert.equal(kind, "invalid_argument");
  assert.match(message, /curser.*cursor/s);
  step("an unknown input is named, and the one that was meant");

  for (const wrong of [
    { wait_ms: LONGEST_WAIT + 1 },
    { wait_ms: -1 },
    { wait_ms: 1.5 },
    { cursor: -1 },
    { cursor: "0" },
    { cursor: 1_000_000 },
    { max_bytes: 3 },
    { wait_ms: 1, until: { pattern: "(" } },
    { wait_ms: 1, until: {} },
  ]) {
    assert.equal((await peer.refusal("session_read", { ...session, ...wrong }))[0], "invalid_argument");
  }
  const keys = { action: "keys", keys: ["ctrl-up-down"] };
  const [, key] = await peer.refusal("session_control", { ...session, ...keys });
  assert.match(key, /ctrl-up-down/);
  const [, directory] = await peer.refusal("session_start", {
    command: "true",
    client_token: "local",
    cwd: "/nonexistent",
  });
  assert.match(directory, /\/nonexistent/);
  assert.equal((await peer.call("session_list")).sessions.length, 1);
  step("values out of range, a key that there is not and a missing directory are refused, and leave nothing");

  const typo = await peer.client.callTool({ name: "session_raed", arguments: {} }).then(
    (result) => (assert.ok(result.isError), result.content[0].text),
    (error) => error.message,
  );
  assert.match(typo, /session_raed/);
  await assert.rejects(peer.client.request({ method: "resources/read", params: { uri: "file:///x" } }));
  peer.forgive(/resources\/read/);
  step("an unknown tool is named, and what the server does not offer is an error");

  const stopped = await peer.call("session_stop", { ...session, wait_ms: LONGEST_WAIT });
  assert.equal(stopped.status, "stopped");
  const [late] = await peer.refusal("session_write", { ...session, input: "late\n" });
  assert.equal(late, "failed_precondition");
  step("nothing can be typed into what has ended");
}

await run(scenario);
