// Programs that own the whole screen, steered by named keys.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LONGEST_WAIT, run, step } from "./peer.mjs";

async function scenario(peer) {
  const note = join(peer.folder, "note");
  writeFileSync(note, "one\ntwo\nthree\n");
  const [vim] = await peer.start(`vim -u NONE -i NONE -N '${note}'`, "three");
  await peer.press(vim, ["down", "down", "end", "a", "!"], "!");
  await peer.press(vim, ["escape"], "\\[24;1H\x1b\\[K");
  // Its last line but one, as it draws it anew.
  await peer.act("session_control", vim, { action: "resize", cols: 120, rows: 50 }, "\x1b\\[49;1H");
  await peer.act("session_write", vim, { input: ":echo 'now' &columns &lines\r" }, "now 120 50");
  await ends(peer, vim, { input: ":wq\r" });
  assert.equal(readFileSync(note, "utf8"), "one\ntwo\nthree!\n");
  step("vim edits by keys and draws to a new size");

  const [less] = await peer.start("seq 1 1000 | less", "23\r\n:");
  await peer.press(less, ["down"], "24\r\n:");
  await peer.press(less, ["page-down"], "47\r\n:");
  await peer.press(less, ["end"], "1000\r\n");
  await peer.press(less, ["home"], "\x1bM1\r\n");
  await ends(peer, less, { input: "q" });
  step("less follows keys in the form that it asks for");

  const [htop] = await peer.start("htop", "F10");
  await peer.press(htop, ["f2"], "Categories");
  await peer.press(htop, ["f10"], "F1");
  await ends(peer, htop, { action: "keys", keys: ["f10"] });
  step("htop follows function keys");
}

/** Does the last thing to a session, which then ends without a complaint. */
async function ends(peer, session, given) {
  const tool = given.action ? "session_control" : "session_write";
  const ended = await peer.call(tool, { ...session, ...given, wait_ms: LONGEST_WAIT, until: { end: true } });
  assert.deepEqual([ended.done, ended.exit_code], [true, 0], JSON.stringify(ended));
}

await run(scenario);
