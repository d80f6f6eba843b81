// What part of the world is shown: a place in the middle, and pixels a unit. It follows the player.

/** After this time a third of the way is left, in milliseconds. */
const LAG_MS = 110;
/** A player who is farther off than this, in widths of the picture, was moved: no sliding. */
const JUMP = 0.7;
const ZOOMS = [0.3, 5];

export class Camera {
  centre = [0, 0];
  scale = 8;
  #zoom = 1;
  #wanted = 1;
  #middle = [0, 0];
  #hasTarget = false;

  /** Zooms by a factor; the picture follows smoothly. */
  zoomBy(factor) {
    this.#wanted = Math.min(ZOOMS[1], Math.max(ZOOMS[0], this.#wanted * factor));
  }

  /**
   * `target` is the place in the middle, `sight` the distance that is seen, in units; `bottom`
   * pixels of the picture are covered.
   */
  move(target, sight, [width, height], bottom, elapsed) {
    const share = 1 - Math.exp(-Math.max(0, elapsed) / LAG_MS);
    this.#zoom += (this.#wanted - this.#zoom) * share;
    this.scale = Math.max(0.5, (Math.sqrt(width * height) / (1.7 * sight)) * this.#zoom);
    const [dx, dy] = [target[0] - this.centre[0], target[1] - this.centre[1]];
    const isFar = Math.hypot(dx, dy) * this.scale > JUMP * width;
    const step = this.#hasTarget && !isFar ? share : 1;
    this.centre = [this.centre[0] + dx * step, this.centre[1] + dy * step];
    this.#hasTarget = true;
    this.#middle = [width / 2, (height - bottom) / 2];
  }

  /** Pixels of a place. */
  toScreen(x, y) {
    return [this.#middle[0] + (x - this.centre[0]) * this.scale, this.#middle[1] - (y - this.centre[1]) * this.scale];
  }

  /** The place below a pixel. */
  toWorld(x, y) {
    return [this.centre[0] + (x - this.#middle[0]) / this.scale, this.centre[1] - (y - this.#middle[1]) / this.scale];
  }
}

/** Of places `{ x, y }`, the nearest to a point within a reach, or null. */
export function nearest(places, x, y, reach) {
  let best = null;
  for (const place of places) {
    const distance = Math.hypot(place.x - x, place.y - y);
    if (distance <= reach) [best, reach] = [place, distance];
  }
  return best;
}
