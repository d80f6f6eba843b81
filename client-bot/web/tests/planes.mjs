// Planes of the page, for Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { planeAt } from "../page/planes.js";

const groups = [
  { name: "cave", size: [20, 30], copies: 5, columns: 3, stride: [32, 40], low: 60 },
  { name: "house", size: [8, 8], copies: 1, columns: 1, stride: [24, 24], low: 160 },
];
const schema = { size: [100, 200], planes: { size: [50, 48], gap: 10, groups } };

test("a place is in its plane, from corner to corner", () => {
  assert.deepEqual(planeAt(schema, [49, 47]), { number: 0, name: null, copy: 0, low: [0, 0], high: [50, 48] });
  const second = { number: 2, name: "cave", copy: 1, low: [32, 60], high: [52, 90] };
  assert.deepEqual(planeAt(schema, [32, 60]), second);
  assert.deepEqual(planeAt(schema, [51.9, 89.9]), second);
  assert.deepEqual(planeAt(schema, [33, 101]), { number: 5, name: "cave", copy: 4, low: [32, 100], high: [52, 130] });
  assert.deepEqual(planeAt(schema, [7, 167]), { number: 6, name: "house", copy: 0, low: [0, 160], high: [8, 168] });
});

test("a place between planes counts as in one beside it", () => {
  assert.equal(planeAt(schema, [25, 54]).number, 0);
  assert.equal(planeAt(schema, [25, 56]).number, 1);
  assert.equal(planeAt(schema, [28, 70]).number, 2);
  assert.equal(planeAt(schema, [90, 110]).number, 5, "the last copy is the nearest");
});

test("a world without planes is plane 0", () => {
  assert.deepEqual(planeAt({ size: [80] }, [3, 4]), { number: 0, name: null, copy: 0, low: [0, 0], high: [80, 80] });
});
