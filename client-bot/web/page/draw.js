// The world around the player, on a canvas.

import { Camera, nearest } from "./camera.js";
import { Effects } from "./effects.js";
import { each } from "./game.js";
import { Ground } from "./ground.js";
import { looksOf, paintFigure } from "./look.js";
import { planeAt } from "./planes.js";

/** So far from a figure a click or a finger still chooses it, in pixels of the page. */
const REACH = 24;
/** A figure's half height: in units, and its bounds in pixels of the page. */
const RADIUS = 1.35;
const RADIUS_MIN = 12;
const RADIUS_MAX = 34;
const MARK_MS = 700;
/** More pixels than these a pixel of the page only cost time. */
const RATIO_MAX = 2;

export class Scene {
  #canvas;
  #context;
  #camera = new Camera();
  #ground = new Ground();
  #effects = new Effects();
  #sprites = new Map();
  #schema = null;
  #describe;
  #ratio = 1;
  #then = 0;
  #frame = 0;
  /** By slot: what is shown of an entity, from frame to frame. */
  #figures = new Map();
  /** Those that were drawn last, from back to front. */
  #drawn = [];
  #marks = [];
  /** Pixels of the page that the bar below covers. */
  covered = 0;
  selected = null;
  goal = null;
  /** The figure of the player, if it is in the world. */
  own = null;
  /** The plane that is shown, as `planeAt` gives it. */
  land = null;

  /** `describe` gives the data of a slot. */
  constructor(canvas, describe) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d", { alpha: false });
    this.#describe = describe;
  }

  setSchema(schema) {
    this.#schema = schema;
    this.looks = looksOf(schema.kinds.map((kind) => kind.name));
    this.#sprites.clear();
    this.setLayers(null);
    this.land = null;
    this.#figures.clear();
  }

  setLayers(layers) {
    this.#ground.layers = layers;
    this.#ground.clear();
  }

  /** Cells of the layers have changed, in boxes of the world. */
  forget(boxes) {
    this.#ground.forget(boxes);
  }

  zoomBy(factor) {
    this.#camera.zoomBy(factor);
  }

  /** The place in the world below a point of the page. */
  placeAt(x, y) {
    return this.#camera.toWorld(x * this.#ratio, y * this.#ratio);
  }

  /** The slot of the entity that is drawn nearest to a point of the page, or null. */
  entityAt(x, y) {
    const others = this.#drawn.filter((figure) => !figure.isOwn);
    return nearest(others, x * this.#ratio, y * this.#ratio, REACH * this.#ratio)?.slot ?? null;
  }

  /** Where an entity was drawn, as a point of the page; null: nowhere. */
  pointOf(slot) {
    const figure = this.#drawn.find((one) => one.slot === slot);
    return figure ? [figure.x / this.#ratio, figure.y / this.#ratio] : null;
  }

  /** Shows for a moment that something has happened at an entity. */
  mark(slot, now) {
    if (this.#marks.length < 64) this.#marks.push({ slot, now });
  }

  say(slot, text, now) {
    this.#effects.say(slot, text, now);
  }

  /** All figures of the last frame. */
  figures() {
    return this.#drawn;
  }

  get sight() {
    return this.#schema?.aoi ?? 0;
  }

  get centre() {
    return this.#camera.centre;
  }

  /** `bar` is the column that entities are shown with; `fallback` is where the player was last. */
  draw(entities, bar, fallback, now) {
    this.#fit();
    const context = this.#context;
    const { width, height } = this.#canvas;
    if (!this.#schema) {
      context.fillStyle = "#11222f";
      context.fillRect(0, 0, width, height);
      return;
    }
    this.#frame += 1;
    this.own = null;
    const seen = [];
    each(entities, (entity) => seen.push(this.#take(entity, bar, now)));
    const target = this.own ? [this.own.worldX, this.own.worldY] : fallback ?? planeAt(this.#schema, [0, 0]).high.map((size) => size / 2);
    this.#follow(planeAt(this.#schema, target));
    // A world that is smaller than what is seen fills the picture.
    const edges = this.land.high.map((high, axis) => high - this.land.low[axis]);
    const sight = Math.min(this.#schema.aoi, 0.6 * Math.max(...edges));
    this.#camera.move(target, sight, [width, height], this.covered * this.#ratio, now - this.#then);
    this.#then = now;
    this.#ground.draw(context, this.#camera, this.land);
    const ratio = this.#ratio;
    const unit = Math.min(RADIUS_MAX * ratio, Math.max(RADIUS_MIN * ratio, RADIUS * this.#camera.scale));
    const shown = seen.filter((figure) => {
      [figure.x, figure.y] = this.#camera.toScreen(figure.worldX, figure.worldY);
      const { look } = figure;
      figure.radius = Math.round(unit * (look?.size ?? 1));
      return figure.x > -unit && figure.y > -unit && figure.x < width + unit && figure.y < height + 2 * unit;
    });
    // Those in front hide those behind.
    shown.sort((a, b) => b.worldY - a.worldY);
    this.#drawn = shown;
    this.#zones(seen);
    this.#sight();
    this.#rings(unit, now);
    for (const figure of shown) if (!figure.isOwn) this.#figure(figure, now);
    if (this.own) this.#figure(this.own, now);
    for (const figure of shown) this.#sign(figure);
    this.#effects.draw(context, (slot) => this.#current(slot), ratio, now);
    if (this.#frame % 120 === 0) this.#forget();
  }

  /** Shows a plane; in another one, nothing is left of the one before. */
  #follow(land) {
    if (this.land?.number !== land.number) {
      this.#ground.clear();
      if (this.land) this.goal = null;
    }
    this.land = land;
  }

  #fit() {
    this.#ratio = Math.min(RATIO_MAX, devicePixelRatio);
    const [width, height] = [innerWidth * this.#ratio, innerHeight * this.#ratio].map(Math.round);
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
    }
  }

  /** Updates where an entity is now, and what has changed since the last frame. */
  #take({ slot, kind, x, y, isOwn, isNamed, textMark, share }, bar, now) {
    let figure = this.#figures.get(slot);
    if (!figure || figure.frame !== this.#frame - 1 || figure.kind !== kind) {
      figure = { slot, kind, name: null, textMark: 0, texts: [], share, worldX: x, worldY: y, isLeft: false, movedAt: -1e9, look: this.looks[kind] };
      this.#figures.set(slot, figure);
    }
    // A name may come after its entity.
    if (isNamed !== (figure.name !== null)) figure.name = isNamed ? this.#describe(slot)?.name ?? null : null;
    if (figure.textMark !== textMark) [figure.textMark, figure.texts] = [textMark, this.#describe(slot)?.texts ?? []];
    if (figure.share !== share && share >= 0 && figure.share >= 0) {
      const range = this.rangeOf(kind, bar);
      if (range) this.#effects.number(slot, (share - figure.share) * (range[1] - range[0]), now);
    }
    // Figures that move by less stand.
    const [dx, dy] = [x - figure.worldX, y - figure.worldY];
    if (Math.abs(dx) + Math.abs(dy) > 0.004) figure.movedAt = now;
    if (Math.abs(dx) > 0.01) figure.isLeft = dx < 0;
    figure.frame = this.#frame;
    [figure.worldX, figure.worldY, figure.share, figure.isOwn] = [x, y, share, isOwn];
    if (isOwn) this.own = figure;
    return figure;
  }

  /** The least and the most of a column of a kind; undefined without bounds. */
  rangeOf(kind, column) {
    return this.#schema.kinds[kind]?.ranges.find(([own]) => own === column)?.slice(1);
  }

  /** A figure of this frame. */
  #current(slot) {
    const figure = this.#figures.get(slot);
    return figure?.frame === this.#frame && figure.radius ? figure : undefined;
  }

  #forget() {
    for (const [slot, figure] of this.#figures) if (figure.frame !== this.#frame) this.#figures.delete(slot);
  }

  #figure({ slot, kind, x, y, radius, isOwn, isLeft, movedAt, look }, now) {
    if (!look) return;
    const sprite = this.#sprite(kind, look, radius, isOwn, isLeft);
    const hop = now - movedAt < 160 ? Math.abs(Math.sin(now / 85 + slot)) * radius * 0.16 : 0;
    this.#context.drawImage(sprite, Math.round(x - sprite.width / 2), Math.round(y - hop - sprite.height / 2));
  }

  /** Names and bars above figures: of those that are hurt, the chosen one and the player. */
  #sign({ slot, x, y, radius, name, texts, share, isOwn, kind, look }) {
    if (!look) return;
    const context = this.#context;
    const isChosen = slot === this.selected;
    let top = Math.round(y - radius * 1.15 - 5 * this.#ratio);
    if (share >= 0 && (share < 1 || isChosen || isOwn)) {
      const width = Math.round(Math.max(26 * this.#ratio, radius * 1.5));
      const thick = Math.round(5 * this.#ratio);
      const left = Math.round(x - width / 2);
      context.fillStyle = "#0a101ad0";
      context.fillRect(left - 1, top - 1, width + 2, thick + 2);
      context.fillStyle = `hsl(${Math.round(115 * share)} 75% 52%)`;
      context.fillRect(left, top, Math.round(width * share), thick);
      top -= 5 * this.#ratio;
    }
    const text = name ?? (isChosen ? `${this.#schema.kinds[kind].name} ${slot}` : isOwn ? "you" : null);
    if (text) this.#effects.text(context, text, x, top - 6 * this.#ratio, 12 * this.#ratio, isChosen ? "#ffe08a" : isOwn ? "#ffffff" : "#dbe6ff");
    // What it says, or what is written there.
    texts.forEach((words, line) => this.#effects.text(context, words, x, y + radius * 1.15 + (10 + 15 * line) * this.#ratio, 12 * this.#ratio, "#ffffff"));
  }

  /** The outlines of zones; those that are carried lie around each carrier. */
  #zones(figures) {
    const context = this.#context;
    const { scale } = this.#camera;
    context.lineWidth = 1.5 * this.#ratio;
    context.font = `600 ${12 * this.#ratio}px system-ui, sans-serif`;
    context.textAlign = "center";
    const [x, y] = this.#camera.toScreen(0, 0);
    for (const { name, carrier, is_round, corners } of this.#schema.zones) {
      const [left, low, right, high] = corners.map((edge) => edge * scale);
      const width = right - left;
      const places = carrier === null ? [{ x, y }] : figures.filter((place) => place.kind === carrier);
      for (const place of places) {
        const [middle, top] = [place.x + left + width / 2, place.y - high];
        context.beginPath();
        if (is_round) context.arc(middle, top + width / 2, width / 2, 0, 2 * Math.PI);
        else context.rect(middle - width / 2, top, width, high - low);
        context.fillStyle = "rgba(160, 215, 255, 0.1)";
        context.fill();
        context.strokeStyle = "rgba(200, 232, 255, 0.55)";
        context.stroke();
        context.fillStyle = "rgba(225, 240, 255, 0.85)";
        context.fillText(name, middle, top - 5 * this.#ratio);
      }
    }
  }

  /** Dusk over what the player can't see. */
  #sight() {
    if (!this.own) return;
    const context = this.#context;
    const { width, height } = this.#canvas;
    const radius = this.#schema.aoi * this.#camera.scale;
    const { x, y } = this.own;
    if (Math.hypot(Math.max(x, width - x), Math.max(y, height - y)) < radius) return;
    context.fillStyle = "rgba(6, 12, 24, 0.34)";
    for (const part of [1, 1.035]) {
      context.beginPath();
      context.rect(0, 0, width, height);
      context.arc(x, y, radius * part, 0, 2 * Math.PI, true);
      context.fill();
    }
  }

  /** Rings on the ground: around the player, the chosen one, where a step leads, what was marked. */
  #rings(unit, now) {
    const context = this.#context;
    context.lineWidth = 2.5 * this.#ratio;
    if (this.own) this.#ring(this.own, this.own.radius * 1.05, "rgba(255, 255, 255, 0.75)");
    const chosen = this.#current(this.selected);
    if (chosen) this.#ring(chosen, chosen.radius * (1.25 + 0.06 * Math.sin(now / 180)), "#ffd166");
    if (this.goal) {
      const [x, y] = this.#camera.toScreen(...this.goal);
      this.#ring({ x, y: y - unit * 0.8, radius: unit }, unit * (0.5 + 0.1 * Math.sin(now / 140)), "rgba(255, 255, 255, 0.8)");
    }
    this.#marks = this.#marks.filter((mark) => now - mark.now < MARK_MS);
    for (const mark of this.#marks) {
      const place = this.#current(mark.slot);
      const age = (now - mark.now) / MARK_MS;
      if (place) this.#ring(place, unit * (0.8 + 1.6 * age), `rgba(255, 138, 122, ${1 - age})`);
    }
  }

  #ring({ x, y, radius }, width, colour) {
    const context = this.#context;
    context.strokeStyle = colour;
    context.beginPath();
    context.ellipse(x, y + radius * 0.8, width, width * 0.5, 0, 0, 2 * Math.PI);
    context.stroke();
  }

  /** A figure with its shadow, painted once for each kind, size and direction. */
  #sprite(kind, look, radius, isOwn, isLeft) {
    const key = `${kind} ${radius} ${isOwn} ${isLeft}`;
    let sprite = this.#sprites.get(key);
    if (sprite) return sprite;
    // Of sizes that a zoom passed through.
    if (this.#sprites.size > 200) this.#sprites.clear();
    sprite = document.createElement("canvas");
    sprite.width = sprite.height = Math.ceil(radius * 2.5);
    const context = sprite.getContext("2d");
    context.translate(sprite.width / 2, sprite.height / 2);
    context.scale(isLeft ? -radius : radius, radius);
    context.fillStyle = "rgba(5, 10, 16, 0.34)";
    context.ellipse(0, 0.88, 0.7, 0.22, 0, 0, 7);
    context.fill();
    if (isOwn) {
      // A light edge around the dark one.
      context.save();
      context.shadowColor = "#fff";
      context.shadowBlur = radius * 0.3;
      paintFigure(context, look);
      context.restore();
    }
    paintFigure(context, look);
    this.#sprites.set(key, sprite);
    return sprite;
  }
}
