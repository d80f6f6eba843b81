// Clicks and fingers, for Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { onPointers } from "../page/gestures.js";

/** A canvas whose presses are recorded: `press(type, finger, x, y)`, or of a mouse. */
function canvas() {
  const target = new EventTarget();
  const found = { acts: [], zoom: 1 };
  onPointers(target, {
    zoom: (factor) => { found.zoom *= factor; },
    aim: (x, y) => `${x},${y}`,
    act: (aimed) => found.acts.push(aimed),
  });
  const press = (type, pointerId, clientX, clientY, pointerType = "touch") =>
    target.dispatchEvent(Object.assign(new Event(type), { pointerId, clientX, clientY, pointerType }));
  return { target, found, press };
}

test("a mouse acts as it is pressed", () => {
  const { found, press } = canvas();
  press("pointerdown", 1, 3, 4, "mouse");
  assert.deepEqual(found.acts, ["3,4"]);
});

test("a tap means what was there as the finger came down", () => {
  const { found, press } = canvas();
  press("pointerdown", 1, 3, 4);
  assert.deepEqual(found.acts, []);
  press("pointermove", 1, 9, 4);
  press("pointerup", 1, 9, 4);
  assert.deepEqual(found.acts, ["3,4"]);
});

test("a finger that moves on, or is taken away, does nothing", () => {
  const { found, press } = canvas();
  press("pointerdown", 1, 0, 0);
  press("pointermove", 1, 40, 0);
  press("pointerup", 1, 40, 0);
  press("pointerdown", 2, 0, 0);
  press("pointercancel", 2, 0, 0);
  assert.deepEqual(found.acts, []);
});

test("two fingers zoom by how far they part, and do not tap", () => {
  const { found, press } = canvas();
  press("pointerdown", 1, 0, 0);
  press("pointerdown", 2, 100, 0);
  press("pointermove", 2, 150, 0);
  press("pointermove", 1, -50, 0);
  press("pointerup", 1, -50, 0);
  press("pointerup", 2, 150, 0);
  assert.ok(Math.abs(found.zoom - 2) < 1e-9, `${found.zoom}`);
  assert.deepEqual(found.acts, []);
});

test("a wheel zooms in as it turns up", () => {
  const { target, found } = canvas();
  target.dispatchEvent(Object.assign(new Event("wheel"), { deltaY: -300 }));
  assert.ok(found.zoom > 1.5);
});
