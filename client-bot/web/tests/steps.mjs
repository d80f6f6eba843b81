// The page's steps, for Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inPlane, stepOfKeys, stepTowards } from "../page/steps.js";

test("a step is as long in all directions", () => {
  assert.deepEqual(stepOfKeys(["KeyD"], 2), [2, 0]);
  assert.deepEqual(stepOfKeys(["KeyS"], 2), [0, -2]);
  const [x, y] = stepOfKeys(["KeyW", "KeyA"], 2);
  assert.ok(x < 0 && y > 0 && Math.abs(Math.hypot(x, y) - 2) < 1e-9, `${x} ${y}`);
});

test("keys that say the same count once, and opposite ones nothing", () => {
  assert.deepEqual(stepOfKeys(["KeyD", "ArrowRight"], 2), [2, 0]);
  assert.deepEqual(stepOfKeys(["KeyD", "KeyA"], 2), [0, 0]);
  assert.deepEqual(stepOfKeys(["KeyD", "KeyA", "KeyW"], 2), [0, 2]);
  assert.deepEqual(stepOfKeys([], 2), [0, 0]);
});

test("a step towards a place ends there", () => {
  assert.deepEqual(stepTowards([0, 0, 5], [10, 0], 2), { step: [2, 0], isThere: false });
  assert.deepEqual(stepTowards([9, 0, 5], [10, 0], 2), { step: [1, 0], isThere: false });
  assert.deepEqual(stepTowards([10, 0, 5], [10, 0], 2), { step: [0, 0], isThere: true });
  const { step } = stepTowards([0, 0], [30, 40], 2);
  assert.ok(Math.abs(Math.hypot(...step) - 2) < 1e-9);
});

test("a place outside of a plane is its nearest edge", () => {
  const last = 100 - 1 / 4096;
  const world = { low: [0, 0], high: [100, 100] };
  assert.deepEqual(inPlane([50, 20], world), [50, 20]);
  assert.deepEqual(inPlane([-3, 120], world), [0, last]);
  assert.deepEqual(inPlane([1e9, -1e9], { low: [60, 40], high: [100, 90] }), [last, 40]);
});
