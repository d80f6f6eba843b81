// Which lines of the page's log come together, for Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Lines, wordsOf } from "../page/log.js";

test("lines about the same are one that counts, and the newest is last", () => {
  const lines = new Lines();
  for (let wolf = 0; wolf < 12; wolf += 1) {
    lines.add("notice", `bite by wolf ${wolf}`, "bite", wolf);
    if (wolf === 5) lines.add("notice", "howl by wolf 5", "howl", wolf);
  }
  assert.deepEqual(lines.all.map((line) => [wordsOf(line), line.count]), [["howl by wolf 5", 1], ["bite", 12]]);
});

test("equal lines without a topic count, others stay apart", () => {
  const lines = new Lines();
  for (const text of ["strike", "strike", "heal"]) lines.add("own", text, undefined, 0);
  lines.add("refused", "strike", undefined, 0);
  assert.deepEqual(lines.all.map((line) => [line.type, wordsOf(line), line.count]),
    [["own", "strike", 2], ["own", "heal", 1], ["refused", "strike", 1]]);
});

test("what happens long after is another line", () => {
  const lines = new Lines();
  lines.add("notice", "bite by wolf 1", "bite", 0);
  lines.add("notice", "bite by wolf 2", "bite", 60_000);
  assert.equal(lines.all.length, 2);
});

test("only the latest hundred lines are kept", () => {
  const lines = new Lines();
  for (let i = 0; i < 130; i += 1) lines.add("talk", `line ${i}`, undefined, i);
  assert.equal(lines.trim().length, 30);
  assert.equal(lines.all[0].text, "line 30");
});
