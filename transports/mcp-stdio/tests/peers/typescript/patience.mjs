// A long wait reports progress, which keeps a client patient that gives up on silence; waits hold up nobody.

import assert from "node:assert/strict";
import { run, step } from "./peer.mjs";

// Reports come every 10 s: the client gives up after a little more, the wait takes longer than that.
const PATIENCE = 12_000;
const WAIT = 14_000;

async function scenario(peer) {
  const [session] = await peer.start("echo ready; exec cat", "ready\r\n");
  const reports = [];
  const options = {
    timeout: PATIENCE,
    resetTimeoutOnProgress: true,
    onprogress: ({ progress }) => reports.push(progress),
  };
  const waiting = peer.call("session_read", { ...session, cursor: 7, wait_ms: WAIT }, options);
  const command = { command: `sleep ${WAIT / 1000}; echo done`, client_token: "local" };
  const running = peer.call("execute_command", command, { ...options, onprogress: () => {} });

  assert.equal((await peer.call("session_read", session)).output, "ready\r\n");
  step("a call that has nothing to wait for passes those that wait");

  assert.deepEqual(await waiting, {
    session_id: session.session_id,
    output: "",
    next_cursor: 7,
    truncated: false,
    done: false,
  });
  assert.equal((await running).stdout, "done\n");
  assert.ok(reports.length > 0 && reports.every((report, at) => at === 0 || report > reports[at - 1]), `${reports}`);
  step("both waits outlast a client's patience, because they report on their way");

  const abort = new AbortController();
  const taken = peer.client.callTool(
    { name: "session_read", arguments: { ...session, cursor: 7, wait_ms: WAIT } },
    { signal: abort.signal },
  );
  abort.abort();
  await assert.rejects(taken);
  await peer.type(session, "x", "x\r\nx\r\n");
  step("a wait that the client takes back leaves the session as it was");
}

await run(scenario);
