// The world around the player, on a canvas.

import { each } from "./game.js";

const GRID = 10;
const SPRITE = 64;

export class Scene {
  #canvas;
  #context;
  #sprites = new Map();
  #schema = null;
  /** Pixels a unit. */
  #scale = 8;
  #zoom = 1;
  #centre = [0, 0];
  /** Where entities were drawn, for clicks. */
  #places = [];
  #marks = [];
  selected = null;
  goal = null;

  constructor(canvas) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d", { alpha: false });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.#zoom = Math.min(6, Math.max(0.25, this.#zoom * Math.exp(-event.deltaY / 600)));
      },
      { passive: false },
    );
  }

  setSchema(schema) {
    this.#schema = schema;
    this.#sprites.clear();
  }

  /** The place in the world below a point of the page. */
  placeAt(x, y) {
    const ratio = devicePixelRatio;
    const [middleX, middleY] = this.#middle();
    return [
      this.#centre[0] + (x * ratio - middleX) / this.#scale,
      this.#centre[1] - (y * ratio - middleY) / this.#scale,
    ];
  }

  /** The slot of the entity at a point of the page, or null. */
  entityAt(x, y) {
    const ratio = devicePixelRatio;
    let best = null;
    let reach = (14 * ratio) ** 2;
    for (const place of this.#places) {
      const distance = (place.x - x * ratio) ** 2 + (place.y - y * ratio) ** 2;
      if (distance < reach && !place.isOwn) [best, reach] = [place.slot, distance];
    }
    return best;
  }

  /** Shows for a moment that something has happened at an entity. */
  mark(slot, now) {
    if (this.#marks.length < 64) this.#marks.push({ slot, now });
  }

  /** `own` is where the player is, or was last; null before. */
  draw(entities, own, now) {
    this.#fit();
    const context = this.#context;
    const { width, height } = this.#canvas;
    context.fillStyle = "#070a15";
    context.fillRect(0, 0, width, height);
    if (!this.#schema) return;
    this.#centre = own?.slice(0, 2) ?? this.#schema.size.slice(0, 2).map((size) => size / 2);
    const unit = Math.min(width, height) / (2.3 * this.#schema.aoi);
    this.#scale = Math.max(0.5, unit * this.#zoom);
    this.#ground();
    this.#places.length = 0;
    const size = Math.max(7 * devicePixelRatio, Math.min(1.6 * this.#scale, 22 * devicePixelRatio));
    const last = [];
    each(entities, (entity) => {
      const [x, y] = this.#toScreen(entity.x, entity.y);
      if (x < -size || y < -size || x > width + size || y > height + size) return;
      const place = { ...entity, x, y };
      this.#places.push(place);
      if (entity.isOwn || entity.slot === this.selected) last.push(place);
      else this.#entity(place, size);
    });
    for (const place of last) this.#entity(place, size);
    this.#zones();
    this.#overlay(now, size);
  }

  #fit() {
    const ratio = devicePixelRatio;
    const [width, height] = [innerWidth * ratio, innerHeight * ratio].map(Math.round);
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
    }
  }

  /** The middle of what the cards leave free, in pixels of the canvas. */
  #middle() {
    const { width, height } = this.#canvas;
    const card = innerWidth > 760 ? 304 * devicePixelRatio : 0;
    return [(width - card) / 2, height / 2];
  }

  #toScreen(x, y) {
    const [middleX, middleY] = this.#middle();
    return [
      middleX + (x - this.#centre[0]) * this.#scale,
      middleY - (y - this.#centre[1]) * this.#scale,
    ];
  }

  /** The world's floor with its grid, and how far the player sees. */
  #ground() {
    const context = this.#context;
    const [sizeX, sizeY = sizeX] = this.#schema.size;
    const [left, bottom] = this.#toScreen(0, 0);
    const [right, top] = this.#toScreen(sizeX, sizeY);
    context.fillStyle = "#10182c";
    context.fillRect(left, top, right - left, bottom - top);
    const { width, height } = this.#canvas;
    const step = this.#scale * GRID < 14 ? GRID * 5 : GRID;
    context.lineWidth = 1;
    context.strokeStyle = "#1b2743";
    context.beginPath();
    const from = ([a, b], size) => [Math.max(0, Math.floor(a / step) * step), Math.min(size, b)];
    const half = [width, height].map((pixels) => pixels / this.#scale);
    const [x0, x1] = from([this.#centre[0] - half[0], this.#centre[0] + half[0]], sizeX);
    const [y0, y1] = from([this.#centre[1] - half[1], this.#centre[1] + half[1]], sizeY);
    for (let x = x0; x <= x1; x += step) {
      const [at] = this.#toScreen(x, 0);
      context.moveTo(at, Math.max(0, top));
      context.lineTo(at, Math.min(height, bottom));
    }
    for (let y = y0; y <= y1; y += step) {
      const [, at] = this.#toScreen(0, y);
      context.moveTo(Math.max(0, left), at);
      context.lineTo(Math.min(width, right), at);
    }
    context.stroke();
    context.strokeStyle = "#35508a";
    context.lineWidth = 2 * devicePixelRatio;
    context.strokeRect(left, top, right - left, bottom - top);
    const [x, y] = this.#toScreen(...this.#centre);
    const sight = this.#schema.aoi * this.#scale;
    const light = context.createRadialGradient(x, y, 0, x, y, sight);
    light.addColorStop(0, "rgba(96, 140, 255, 0.16)");
    light.addColorStop(1, "rgba(96, 140, 255, 0.02)");
    context.fillStyle = light;
    context.beginPath();
    context.arc(x, y, sight, 0, 2 * Math.PI);
    context.fill();
    context.strokeStyle = "rgba(120, 160, 255, 0.28)";
    context.lineWidth = devicePixelRatio;
    context.setLineDash([6 * devicePixelRatio, 6 * devicePixelRatio]);
    context.stroke();
    context.setLineDash([]);
  }

  #entity({ x, y, kind, isOwn, share }, size) {
    const context = this.#context;
    const sprite = this.#sprite(isOwn ? -1 : kind);
    const edge = size * (isOwn ? 3.4 : 2.6);
    context.drawImage(sprite, x - edge / 2, y - edge / 2, edge, edge);
    if (share >= 0 && share < 1) {
      const width = size * 1.6;
      const thick = Math.max(2, size / 6);
      context.fillStyle = "rgba(5, 8, 18, 0.8)";
      context.fillRect(x - width / 2, y - size, width, thick);
      context.fillStyle = `hsl(${Math.round(120 * share)} 80% 55%)`;
      context.fillRect(x - width / 2, y - size, width * share, thick);
    }
  }

  /** The outlines of zones; those that are carried lie around each carrier. */
  #zones() {
    const context = this.#context;
    context.fillStyle = context.strokeStyle = "#7d92c4";
    context.lineWidth = devicePixelRatio;
    context.font = `${11 * devicePixelRatio}px sans-serif`;
    context.textAlign = "center";
    const [x, y] = this.#toScreen(0, 0);
    for (const { name, carrier, is_round, corners } of this.#schema.zones) {
      const [left, low, right, high] = corners.map((edge) => edge * this.#scale);
      const width = right - left;
      const places = carrier === null ? [{ x, y }] : this.#places.filter((place) => place.kind === carrier);
      for (const place of places) {
        const [middle, top] = [place.x + left + width / 2, place.y - high];
        context.beginPath();
        if (is_round) context.arc(middle, top + width / 2, width / 2, 0, 2 * Math.PI);
        else context.rect(middle - width / 2, top, width, high - low);
        context.stroke();
        context.fillText(name, middle, top - 3);
      }
    }
  }

  #overlay(now, size) {
    const context = this.#context;
    context.lineWidth = 2 * devicePixelRatio;
    const bySlot = new Map(this.#places.map((place) => [place.slot, place]));
    const chosen = bySlot.get(this.selected);
    if (chosen) this.#ring(chosen, size * (1.1 + 0.08 * Math.sin(now / 180)), "#ffd166");
    if (this.goal) {
      const [x, y] = this.#toScreen(...this.goal);
      this.#ring({ x, y }, size * 0.5, "rgba(140, 220, 255, 0.8)");
    }
    this.#marks = this.#marks.filter((mark) => now - mark.now < 700);
    for (const mark of this.#marks) {
      const place = bySlot.get(mark.slot);
      const age = (now - mark.now) / 700;
      if (place) this.#ring(place, size * (0.6 + 2 * age), `rgba(255, 107, 107, ${1 - age})`);
    }
    context.globalAlpha = 1;
  }

  #ring({ x, y }, radius, colour) {
    const context = this.#context;
    context.strokeStyle = colour;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }

  /** A glowing disc, drawn once for each kind. */
  #sprite(kind) {
    let sprite = this.#sprites.get(kind);
    if (sprite) return sprite;
    sprite = document.createElement("canvas");
    sprite.width = sprite.height = SPRITE;
    const context = sprite.getContext("2d");
    const middle = SPRITE / 2;
    const [hue, light] = kind < 0 ? ["210 100%", 82] : [`${hueOf(kind)} 75%`, 62];
    const glow = context.createRadialGradient(middle, middle, SPRITE * 0.12, middle, middle, middle);
    glow.addColorStop(0, `hsl(${hue} ${light}% / 0.55)`);
    glow.addColorStop(1, `hsl(${hue} ${light}% / 0)`);
    context.fillStyle = glow;
    context.fillRect(0, 0, SPRITE, SPRITE);
    context.fillStyle = `hsl(${hue} ${light}%)`;
    context.beginPath();
    context.arc(middle, middle, SPRITE * 0.19, 0, 2 * Math.PI);
    context.fill();
    context.lineWidth = 3;
    context.strokeStyle = kind < 0 ? "#ffffff" : `hsl(${hue} 88%)`;
    context.stroke();
    this.#sprites.set(kind, sprite);
    return sprite;
  }
}

/** Neighbouring kinds have colours far apart. */
export function hueOf(kind) {
  return Math.round((160 + kind * 137.5) % 360);
}
