// Where the player goes: steps in units, from keys and clicks. No state, and nothing of the page.

export const DIRECTIONS = {
  KeyW: [0, 1], ArrowUp: [0, 1], KeyS: [0, -1], ArrowDown: [0, -1],
  KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0],
};

/** The step of these keys: as long in all directions, also where several keys say the same. */
export function stepOfKeys(keys, length) {
  let [x, y] = [0, 0];
  for (const key of keys) {
    x += DIRECTIONS[key][0];
    y += DIRECTIONS[key][1];
  }
  const long = Math.hypot(x, y);
  return long === 0 ? [0, 0] : [(x * length) / long, (y * length) / long];
}

/** A step towards a place, at most so long; `isThere` once the place is all but reached. */
export function stepTowards(from, goal, length) {
  const [x, y] = [goal[0] - from[0], goal[1] - from[1]];
  const long = Math.hypot(x, y);
  const share = Math.min(1, length / Math.max(long, 1e-6));
  return { step: [x * share, y * share], isThere: long < NEAR };
}

/** The place of a plane, from its low corner to the high one, that is nearest to a place. */
export function inPlane(place, { low, high }) {
  // Positions go to just below the high corner.
  return place.map((at, axis) => Math.min(Math.max(at, low[axis]), high[axis] - FRACTION));
}

/** In units. */
const NEAR = 0.2;
const FRACTION = 1 / 4096;
