// How kinds look, for Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { looksOf } from "../page/look.js";

test("names of kinds give their figures", () => {
  const figures = looksOf(["player", "wolf", "crystal", "herb", "warden"]).map((look) => look.figure);
  assert.deepEqual(figures, ["person", "beast", "gem", "plant", "guardian"]);
});

test("kinds of a figure have colours of their own", () => {
  const looks = looksOf(["wolf", "whelp", "bear", "dog", "rat", "player"]);
  assert.equal(new Set(looks.map((look) => look.colour)).size, looks.length);
});

test("kinds whose names say nothing differ from their neighbours", () => {
  const looks = looksOf(["alpha", "beta", "gamma"]);
  assert.equal(new Set(looks.map((look) => look.figure)).size, 3);
});
