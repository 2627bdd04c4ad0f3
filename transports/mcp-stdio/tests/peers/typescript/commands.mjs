// One-shot commands: success, failure, a time limit, and calls that the client takes back or gives up.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { run, step } from "./peer.mjs";

const local = (command, more = {}) => ({ command, client_token: "local", ...more });

async function scenario(peer) {
  assert.deepEqual(await peer.call("execute_command", local("echo out; echo err >&2")), {
    stdout: "out\n",
    stderr: "err\n",
    exit_code: 0,
    timed_out: false,
    canceled: false,
    truncated: false,
  });
  step("a command gives both streams and its exit code");

  const given = { stdin: "typed\n", env: { GREETING: "hi" }, cwd: "/tmp" };
  const told = await peer.call("execute_command", local('cat; echo "$GREETING from $PWD"', given));
  assert.equal(told.stdout, "typed\nhi from /tmp\n");
  step("input, environment and directory are as given");

  const failed = await peer.failure("execute_command", local("echo no; exit 3"));
  assert.deepEqual([failed.stdout, failed.exit_code, failed.canceled], ["no\n", 3, false]);
  const limited = await peer.failure("execute_command", local("echo begun; sleep 1000", { timeout_ms: 300 }));
  assert.deepEqual([limited.stdout, limited.exit_code, limited.timed_out], ["begun\n", -1, true]);
  step("a command that fails and one that takes too long have their whole results");

  const abort = new AbortController();
  await endsWith(peer, "taken back", { signal: abort.signal }, () => abort.abort("changed my mind"));
  step("a call that the client takes back ends its command, children included");

  await endsWith(peer, "given up", { timeout: 2_000 }, () => {});
  step("a call that the client gives up does too");

  const calls = Array.from({ length: 20 }, (_, n) => peer.call("execute_command", local(`echo ${n}`)));
  assert.deepEqual(
    (await Promise.all(calls)).map((result) => result.stdout),
    Array.from({ length: 20 }, (_, n) => `${n}\n`),
  );
  step("many calls at once get their own answers, and the connection goes on");
}

/** Runs a command that would never end in a call with these options, and waits until its processes have ended. */
async function endsWith(peer, name, options, then) {
  const [started, ended] = ["started", "ended"].map((end) => join(peer.folder, `${name} ${end}`));
  execFileSync("mkfifo", [started, ended]);
  // Whoever reads from the second pipe waits until the last process that holds it has ended.
  const whenEnded = readFile(ended, "utf8");
  const command = `exec 9>'${ended}'; sleep 1000 & echo up >'${started}'; wait`;
  const call = peer.client.callTool({ name: "execute_command", arguments: local(command) }, options);
  const refused = assert.rejects(call);
  assert.equal(await readFile(started, "utf8"), "up\n");
  then();
  await refused;
  assert.equal(await whenEnded, "");
}

await run(scenario);
