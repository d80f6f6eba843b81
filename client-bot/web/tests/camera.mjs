// What the page's picture shows, for Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Camera, nearest } from "../page/camera.js";

const PICTURE = [800, 600];

test("the player is in the middle of what nothing covers", () => {
  const camera = new Camera();
  camera.move([50, 20], 40, PICTURE, 100, 16);
  assert.deepEqual(camera.toScreen(50, 20), [400, 250]);
  const [x, y] = camera.toScreen(60, 20);
  assert.ok(x > 400 && y === 250);
  const [, north] = camera.toScreen(50, 30);
  assert.ok(north < 250, "north is up");
});

test("a place has a pixel, and the pixel this place", () => {
  const camera = new Camera();
  camera.move([5, 7], 30, PICTURE, 0, 16);
  const [x, y] = camera.toWorld(...camera.toScreen(-3, 11));
  assert.ok(Math.hypot(x + 3, y - 11) < 1e-9);
});

test("the picture follows without a jump, and jumps where the player was moved far", () => {
  const camera = new Camera();
  camera.move([10, 10], 40, PICTURE, 0, 16);
  camera.move([12, 10], 40, PICTURE, 0, 16);
  assert.ok(camera.centre[0] > 10 && camera.centre[0] < 11);
  for (let frame = 0; frame < 120; frame += 1) camera.move([12, 10], 40, PICTURE, 0, 16);
  assert.ok(Math.abs(camera.centre[0] - 12) < 0.001);
  camera.move([900, 900], 40, PICTURE, 0, 16);
  assert.deepEqual(camera.centre, [900, 900]);
});

test("a zoom comes smoothly and has an end", () => {
  const camera = new Camera();
  const frames = (count) => {
    for (let frame = 0; frame < count; frame += 1) camera.move([0, 0], 40, PICTURE, 0, 16);
    return camera.scale;
  };
  const before = frames(1);
  camera.zoomBy(2);
  const first = frames(1);
  assert.ok(first > before && first < 2 * before);
  assert.ok(Math.abs(frames(200) / before - 2) < 0.01);
  camera.zoomBy(1e9);
  assert.ok(frames(400) / before <= 5.01);
});

test("the nearest place counts, and only within reach", () => {
  const places = [{ x: 0, y: 0, slot: 1 }, { x: 10, y: 0, slot: 2 }];
  assert.equal(nearest(places, 6, 0, 24).slot, 2);
  assert.equal(nearest(places, 10, 24, 24).slot, 2);
  assert.equal(nearest(places, 10, 25, 24), null);
  assert.equal(nearest([], 0, 0, 24), null);
});
