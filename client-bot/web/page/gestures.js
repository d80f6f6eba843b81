// Clicks, fingers and the wheel on a canvas.

/** A finger that goes farther than this in pixels does not tap. */
const TAP_REACH = 14;

/**
 * `zoom` is called with a factor. `aim` is called with the point of a press and gives what is
 * there; `act` is called with that: at once for a mouse, and for a finger when it is lifted, unless
 * it has moved on or a second one has come.
 */
export function onPointers(canvas, { zoom, aim, act }) {
  const fingers = new Map();
  let tap = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 600));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    const { pointerId, clientX: x, clientY: y } = event;
    if (event.pointerType !== "touch") return act(aim(x, y));
    fingers.set(pointerId, { x, y });
    tap = fingers.size === 1 ? { x, y, aimed: aim(x, y) } : null;
  });
  canvas.addEventListener("pointermove", ({ pointerId, clientX: x, clientY: y }) => {
    const finger = fingers.get(pointerId);
    if (!finger) return;
    const before = spread(fingers);
    [finger.x, finger.y] = [x, y];
    if (fingers.size === 2 && before > 0) zoom(spread(fingers) / before);
    if (tap && Math.hypot(x - tap.x, y - tap.y) > TAP_REACH) tap = null;
  });
  const lift = ({ pointerId, type }) => {
    if (!fingers.delete(pointerId)) return;
    if (tap && type === "pointerup") act(tap.aimed);
    tap = null;
  };
  for (const type of ["pointerup", "pointercancel"]) canvas.addEventListener(type, lift);
}

/** How far two fingers are apart. */
function spread(fingers) {
  const [one, other] = fingers.values();
  return other ? Math.hypot(one.x - other.x, one.y - other.y) : 0;
}
