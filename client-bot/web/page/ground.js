// The ground below the player, in squares that are painted once.

import { LAND, SEA, paintGround } from "./look.js";

const PIXELS = 256;
const SQUARES_MAX = 160;
/** More would be seen as a frame that takes too long. */
const PAINTED_A_FRAME = 2;

export class Ground {
  #squares = new Map();
  /** Painted over it; none before they are there. */
  layers = null;

  clear() {
    this.#squares.clear();
  }

  /** What boxes show, `[left, bottom, right, top]`, is painted anew, and shown as it was until then. */
  forget(boxes) {
    for (const square of this.#squares.values()) {
      const { left, top, edge } = square;
      const isIn = ([west, south, east, north]) => west < left + edge && east > left && south < top && north > top - edge;
      square.isStale ||= boxes.some(isIn);
    }
  }

  /** `land` is the plane that is shown. */
  draw(context, camera, land) {
    const { width, height } = context.canvas;
    context.fillStyle = SEA;
    context.fillRect(0, 0, width, height);
    const [left, bottom] = camera.toScreen(...land.low);
    const [right, top] = camera.toScreen(...land.high);
    context.fillStyle = LAND;
    context.fillRect(left, top, right - left, bottom - top);
    // Squares of a few scales, each shown a little larger or smaller.
    const level = Math.round(Math.log2(camera.scale) * 1.5);
    const edge = PIXELS / 2 ** (level / 1.5);
    const [west, north] = camera.toWorld(0, 0);
    const [east, south] = camera.toWorld(width, height);
    let allowed = PAINTED_A_FRAME;
    for (let row = Math.floor(south / edge); row <= north / edge; row += 1) {
      for (let column = Math.floor(west / edge); column <= east / edge; column += 1) {
        const key = `${level} ${column} ${row}`;
        if ((this.#squares.get(key)?.isStale ?? true) && allowed > 0) {
          allowed -= 1;
          this.#paint(key, column * edge, (row + 1) * edge, edge, land);
        }
        const square = this.#squares.get(key)?.canvas;
        if (!square) continue;
        const [x0, y0] = camera.toScreen(column * edge, (row + 1) * edge).map(Math.round);
        const [x1, y1] = camera.toScreen((column + 1) * edge, row * edge).map(Math.round);
        context.drawImage(square, x0, y0, x1 - x0, y1 - y0);
      }
    }
  }

  #paint(key, left, top, edge, land) {
    // The oldest is the first of the map.
    if (!this.#squares.delete(key) && this.#squares.size >= SQUARES_MAX) this.#squares.delete(this.#squares.keys().next().value);
    const square = document.createElement("canvas");
    square.width = square.height = PIXELS;
    paintGround(square, left, top, edge, land);
    this.layers?.paint(square, left, top, edge, land);
    this.#squares.set(key, { canvas: square, left, top, edge, isStale: false });
  }
}
