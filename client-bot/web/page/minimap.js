// The whole plane that the player is in, small: where the player is, how far it sees, and who is there.

import { paintGround } from "./look.js";

/** Milliseconds from picture to picture. */
const REST_MS = 150;

/** The pixels of the painted ground. */
const GROUND = 192;

export class Minimap {
  #canvas;
  #schema = null;
  #land = null;
  #layers = null;
  #drawnAt = -REST_MS;
  #looks = [];
  #ground = document.createElement("canvas");

  /** `go` is called with a place that was clicked. */
  constructor(canvas, go) {
    this.#canvas = canvas;
    canvas.addEventListener("pointerdown", (event) => {
      if (!this.#land) return;
      const box = canvas.getBoundingClientRect();
      const { low, high } = this.#land;
      const share = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
      go(share.map((part, axis) => low[axis] + part * (high[axis] - low[axis])));
    });
  }

  setSchema(schema, looks) {
    [this.#schema, this.#looks, this.#land, this.#layers] = [schema, looks, null, null];
  }

  setLayers(layers) {
    this.#layers = layers;
    this.#land = null;
  }

  /** Cells of the layers have changed. */
  forget() {
    this.#land = null;
  }

  /** Paints the ground of a plane. */
  #show(land) {
    this.#land = land;
    const [sizeX, sizeY] = [land.high[0] - land.low[0], land.high[1] - land.low[1]];
    this.#ground.width = this.#ground.height = GROUND;
    for (const part of [{ paint: paintGround }, this.#layers]) {
      part?.paint(this.#ground, land.low[0], land.high[1], Math.max(sizeX, sizeY), land);
    }
    this.#canvas.style.aspectRatio = Math.min(2.5, Math.max(0.6, sizeX / sizeY));
  }

  draw(scene, now) {
    if (!this.#schema || !scene.land || now - this.#drawnAt < REST_MS) return;
    this.#drawnAt = now;
    if (this.#land?.number !== scene.land.number) this.#show(scene.land);
    const canvas = this.#canvas;
    const ratio = Math.min(2, devicePixelRatio);
    [canvas.width, canvas.height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio];
    const context = canvas.getContext("2d");
    const { low, high } = this.#land;
    const [sizeX, sizeY] = [high[0] - low[0], high[1] - low[1]];
    const at = (x, y) => [((x - low[0]) / sizeX) * canvas.width, (1 - (y - low[1]) / sizeY) * canvas.height];
    const scale = canvas.width / sizeX;
    const part = GROUND / Math.max(sizeX, sizeY);
    context.drawImage(this.#ground, 0, 0, sizeX * part, sizeY * part, 0, 0, canvas.width, canvas.height);
    context.strokeStyle = "rgba(200, 232, 255, 0.6)";
    for (const { carrier, is_round, corners } of this.#schema.zones) {
      if (carrier !== null) continue;
      const [[left, bottom], [right, top]] = [at(corners[0], corners[1]), at(corners[2], corners[3])];
      context.beginPath();
      if (is_round) context.ellipse((left + right) / 2, (top + bottom) / 2, (right - left) / 2, (bottom - top) / 2, 0, 0, 7);
      else context.rect(left, top, right - left, bottom - top);
      context.stroke();
    }
    const [x, y] = at(...scene.centre);
    context.beginPath();
    context.arc(x, y, scene.sight * scale, 0, 7);
    context.fillStyle = "rgba(235, 245, 255, 0.14)";
    context.fill();
    const dot = (figure, radius, colour) => {
      context.fillStyle = colour;
      context.beginPath();
      context.arc(...at(figure.worldX, figure.worldY), radius * ratio, 0, 7);
      context.fill();
    };
    for (const figure of scene.figures()) dot(figure, 1.6, this.#looks[figure.kind]?.colour ?? "#fff");
    if (scene.own) {
      dot(scene.own, 4, "#0a101a");
      dot(scene.own, 3, "#ffffff");
    }
  }
}
