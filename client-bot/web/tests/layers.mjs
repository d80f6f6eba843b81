// Layers of the page that scripts change, for Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Layers } from "../page/layers.js";

const infos = [
  { kind: "Blocked", cells: [10, 4], edge: 2, hash: "01", bytes: 5, tags: [], is_missing: true },
  { kind: "Height", cells: [5, 2], edge: 4, hash: "02", bytes: 20, tags: [], is_missing: true },
];
const contents = { "01": new Uint8Array(5), "02": new Uint8Array(20) };

/** A game whose contents come when the test says so. */
function game() {
  const answers = new Map();
  globalThis.fetch = (url) =>
    new Promise((answer) => {
      const hash = String(url).slice(-2);
      answers.set(hash, () => answer(new Response(contents[hash])));
    });
  return { layers: () => infos, putLayer() {}, fetchLayers() {}, answers };
}

const settled = () => new Promise((done) => setTimeout(done, 20));

/** What a square of the ground looks like: its pixels in units. */
async function painted(layers) {
  const seen = [];
  globalThis.ImageData = class {
    constructor(width, height) {
      this.data = new Uint8ClampedArray(4 * width * height);
      seen.push(this.data);
    }
  };
  globalThis.OffscreenCanvas = class {
    getContext = () => ({ putImageData() {} });
  };
  const canvas = { width: 20, getContext: () => ({ drawImage() {} }) };
  layers.paint(canvas, 0, 20, 20, { low: [0, 0], high: [20, 8] });
  return (x, y) => seen[0][4 * ((19 - y) * 20 + x) + 3] === 255;
}

test("edits hold whether they come before the contents or after, and until the next welcome", async () => {
  const from = game();
  let shown = 0;
  const layers = new Layers(from, "http://localhost/", () => (shown += 1));
  layers.begin(true);
  assert.deepEqual(layers.edit([[0, 13, 1]]), [], "the contents are missing");
  for (const answer of from.answers.values()) answer();
  await settled();
  assert.equal(shown, 1);
  let isWall = await painted(layers);
  assert.deepEqual([isWall(6, 2), isWall(8, 2)], [true, false], "cell 13 is the fourth of the second row");
  assert.deepEqual(layers.edit([[0, 13, 0], [0, 14, 1]]), [[4, 0, 10, 6], [6, 0, 12, 6]]);
  isWall = await painted(layers);
  assert.deepEqual([isWall(6, 2), isWall(8, 2)], [false, true]);
  layers.begin(false);
  isWall = await painted(layers);
  assert.equal(isWall(8, 2), true, "other scripts leave cells as they are");
  layers.begin(true);
  isWall = await painted(layers);
  assert.equal(isWall(8, 2), false, "after a welcome, all edits come again");
});
