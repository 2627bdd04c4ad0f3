// What the peer scripts share: a server under the official TypeScript client, and calls that read as sentences.
//
// Each script is called with the folder of the client's packages, the server's binary and the protocol era.
// sessiond-mcp-http is asked over HTTP, with a key that it has made; the others on their standard streams.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

const [packages, server, era] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

// Scripts take seconds; one that hangs says so instead of blocking the suite, also on a machine under load.
const LIMIT_MS = 180_000;

// The revision that each era comes to, and how a client asks for it.
const ERAS = {
  legacy: { spoken: "2025-11-25", mode: "legacy" },
  modern: { spoken: "2026-07-28", mode: "auto" },
};

// The prompt of the shells that scripts start, so that they can wait for it.
export const PROMPT = "peer> ";
export const LONGEST_WAIT = 20_000;

/** Says what has been seen; the test shows it when something fails. */
export function step(text) {
  console.log(`ok: ${text}`);
}

/** One connection of the official client to our server. */
class Peer {
  constructor(client, folder, faults) {
    this.client = client;
    this.folder = folder;
    this.faults = faults;
  }

  /** Forgets what the client has found at fault where that was asked for: over HTTP an error may be a status, too. */
  forgive(pattern) {
    for (const fault of this.faults.splice(0)) assert.match(String(fault), pattern);
  }

  /** The structured content of a call that succeeds. The client has held it against the tool's schema. */
  async call(tool, given = {}, options = {}) {
    const result = await this.client.callTool({ name: tool, arguments: given }, options);
    assert.ok(!result.isError, `${tool}: ${JSON.stringify(result)}`);
    return result.structuredContent;
  }

  /** The structured content of a call whose command failed: a result, though marked as an error. */
  async failure(tool, given) {
    const result = await this.client.callTool({ name: tool, arguments: given });
    assert.ok(result.isError && result.structuredContent, `${tool}: ${JSON.stringify(result)}`);
    return result.structuredContent;
  }

  /** The kind and the message of a call that is refused. */
  async refusal(tool, given) {
    const result = await this.client.callTool({ name: tool, arguments: given });
    assert.ok(result.isError && result.structuredContent === undefined, `${tool}: ${JSON.stringify(result)}`);
    return [result._meta["sessiond/error"], result.content[0].text];
  }

  /** Starts a session and waits for a pattern. Returns what names it in later calls, and the first answer. */
  async start(command, pattern, more = {}) {
    const wait = { wait_ms: LONGEST_WAIT, until: { pattern } };
    const started = await this.call("session_start", { command, client_token: "local", ...wait, ...more });
    assert.match(started.output, new RegExp(pattern), JSON.stringify(started));
    return [{ session_id: started.session_id, client_token: "local" }, started];
  }

  /** A lasting shell that shows its prompt. */
  async startShell() {
    const [shell] = await this.start("exec bash --norc --noprofile -i", `${PROMPT}$`, { env: { PS1: PROMPT } });
    return shell;
  }

  /** Does something to a session and returns what the terminal shows from then on, until a pattern matches. */
  async act(tool, session, given, pattern) {
    const wait = { wait_ms: LONGEST_WAIT, until: { pattern } };
    const acted = await this.call(tool, { ...session, ...given, ...wait });
    assert.ok(acted.accepted, JSON.stringify(acted));
    assert.match(acted.output, new RegExp(pattern), JSON.stringify(acted));
    return acted.output;
  }

  /** Types a line; what is shown begins with its echo. */
  async type(session, line, pattern = `${PROMPT}$`) {
    return this.act("session_write", session, { input: `${line}\n` }, pattern);
  }

  /** Presses named keys. */
  async press(session, keys, pattern) {
    return this.act("session_control", session, { action: "keys", keys }, pattern);
  }
}

/** A process that a session has started, told apart from a later one of the same number by its start. */
export class Process {
  constructor(pid) {
    this.pid = pid;
    this.started = Process.start(pid);
    assert.ok(this.started, `process ${pid} runs`);
  }

  static start(pid) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    } catch {
      return undefined;
    }
  }

  /** Whether it has ended. */
  gone() {
    return Process.start(this.pid) !== this.started;
  }
}

/** A server that the client starts, and ends by leaving. */
function overStdio(env, folder) {
  return { transport: new StdioClientTransport({ command: server, env, cwd: folder }), end: () => {} };
}

/** A server that listens until it is told to end. */
async function overHttp(env, folder) {
  const made = execFileSync(server, ["key", "new", "peer", "--role", "full"], { env, encoding: "utf8" });
  const key = /sdk_\w+/.exec(made)[0];
  const keys = join(folder, "keys.toml");
  writeFileSync(keys, made.slice(made.indexOf("[keys.peer]")), { mode: 0o600 });
  const child = spawn(server, ["--listen", "127.0.0.1:0"], {
    env: { ...env, SESSIOND_NETWORK__KEYS_FILE: keys },
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const said = await Promise.race([once(createInterface(child.stdout), "line"), exited]);
  const url = new URL(String(said[0]).replace("listening on ", ""));
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const end = async () => {
    child.kill();
    assert.deepEqual(await exited, [0, null]);
    step("the server has ended on SIGTERM");
  };
  return { transport: new StreamableHTTPClientTransport(url, { requestInit }), end };
}

/**
 * Runs a scenario against the server and era that the command line names.
 *
 * The scenario may return processes that it has left running: they must be gone once the server has ended.
 */
export async function run(scenario) {
  const limit = setTimeout(() => {
    console.error("the script takes too long");
    process.exit(1);
  }, LIMIT_MS);
  const folder = mkdtempSync(join(tmpdir(), "peer-"));
  // A home of its own: no configuration and no history of this machine's user. Line editing there says nothing to a
  // terminal that nobody looks at, so that output is what programs print.
  writeFileSync(join(folder, ".inputrc"), "set enable-bracketed-paste off\n");
  const env = { PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: folder, SHELL: "/bin/sh" };
  const { spoken, mode } = ERAS[era];
  const client = new Client({ name: "peer", version: "0" }, { versionNegotiation: { mode } });
  let ended = false;
  const unexpected = [];
  client.onerror = (error) => unexpected.push(error);
  const over = basename(server) === "sessiond-mcp-http" ? overHttp : overStdio;
  const { transport, end } = await over(env, folder);
  try {
    await client.connect(transport);
    assert.equal(client.getNegotiatedProtocolVersion(), spoken);
    step(`the client speaks ${spoken}`);
    const left = (await scenario(new Peer(client, folder, unexpected))) ?? [];
    await client.close();
    await end();
    ended = true;
    assert.deepEqual(
      left.filter((process) => !process.gone()),
      [],
    );
    step(`the connection is closed, and ${left.length} processes with it`);
    assert.deepEqual(unexpected, []);
    step("the client has found no fault with the protocol");
  } finally {
    await client.close();
    if (!ended) await end();
    rmSync(folder, { recursive: true, force: true });
    clearTimeout(limit);
  }
}
