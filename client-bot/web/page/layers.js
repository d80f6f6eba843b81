// What the cells of the world are: fetched once by their hashes, and painted over its ground.

/** Colours of tags by words in their names. */
const TAGS = [
  [[47, 111, 159], /water|sea|lake|river/],
  [[190, 164, 112], /road|path|sand|beach|street/],
  [[52, 74, 46], /swamp|mire|bog|mud|forest|wood/],
  [[226, 234, 242], /snow|ice/],
  [[178, 72, 44], /lava|fire/],
  [[128, 128, 130], /rock|stone|floor/],
];
const TOP = [142, 132, 120];
const FACE = [84, 76, 70];
/** The layers by their numbers in edits. */
const KINDS = ["Blocked", "Height", "Tag"];
/** How much of a cell the side of a wall takes, and its shadow. */
const SIDE = 0.4;

export class Layers {
  #game;
  #server;
  #shown;
  /** By hash. */
  #contents = new Map();
  /** By kind: the content with what scripts changed in it, once there is an edit. */
  #edited = new Map();
  /** Edits that came before all contents. */
  #early = [];
  #infos = [];
  #tags = [];
  #waits = false;

  /** `server` is the address of the server's page; `shown` is called when all are there. */
  constructor(game, server, shown) {
    [this.#game, this.#server, this.#shown] = [game, server, shown];
  }

  /** A welcome has come, or other scripts have: what they changed before stays then. */
  begin(isWelcome) {
    const before = this.#contents;
    [this.#contents, this.#infos, this.#waits] = [new Map(), this.#game.layers(), false];
    if (isWelcome) [this.#edited, this.#early] = [new Map(), []];
    for (const info of this.#infos) {
      if (before.has(info.hash)) this.#take(info, before.get(info.hash));
      else if (info.is_missing) this.#fetch(info);
    }
  }

  async #fetch(info) {
    try {
      const answer = await fetch(new URL(`layers/${info.hash}`, this.#server));
      if (!answer.ok) throw new Error(await answer.text());
      this.#take(info, await read(answer.body, info.bytes));
    } catch {
      // The session has them, too.
      this.#waits = true;
      this.#game.fetchLayers();
    }
  }

  /** Takes what has come over the session. */
  async poll() {
    const packed = this.#waits && this.#game.takePackedLayer();
    if (!packed) return;
    const info = this.#infos.find((info) => info.hash === packed.hash);
    if (!info) return;
    const stream = new Blob([packed.bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    this.#take(info, await read(stream, info.bytes));
  }

  #take(info, content) {
    // Another world may have come meanwhile.
    if (!this.#infos.includes(info) || this.#contents.has(info.hash)) return;
    if (info.is_missing) this.#game.putLayer(info.hash, content);
    this.#contents.set(info.hash, content);
    if (this.#infos.some(({ hash }) => !this.#contents.has(hash))) return;
    this.#tags = this.#of("Tag")?.tags.map((name, at) => (TAGS.find(([, words]) => words.test(name)) ?? TAGS[at % TAGS.length])[0]);
    this.edit(this.#early.splice(0));
    this.#shown(this);
  }

  /** Cells have changed: `[layer, cell, value]`. Returns the boxes of what looks different, in units. */
  edit(edits) {
    if (this.#infos.some(({ hash }) => !this.#contents.has(hash))) {
      this.#early.push(...edits);
      return [];
    }
    const boxes = [];
    for (const [number, cell, value] of edits) {
      const kind = KINDS[number];
      const info = this.#of(kind);
      if (!info) continue;
      if (!this.#edited.has(kind)) this.#edited.set(kind, this.#contents.get(info.hash).slice());
      const bytes = this.#edited.get(kind);
      if (kind === "Blocked") bytes[cell >> 3] = (bytes[cell >> 3] & ~(1 << (cell & 7))) | (value << (cell & 7));
      else if (kind === "Tag") bytes[cell] = value;
      else [bytes[2 * cell], bytes[2 * cell + 1]] = [value & 0xff, (value >> 8) & 0xff];
      // Sides and shadows fall on the cells around it.
      const { cells: [width], edge } = info;
      const [x, y] = [(cell % width) * edge, Math.floor(cell / width) * edge];
      boxes.push([x - edge, y - edge, x + 2 * edge, y + 2 * edge]);
    }
    return boxes;
  }

  #of(kind) {
    return this.#infos.find((info) => info.kind === kind);
  }

  /** A function that gives what the cell of a place has; undefined without the layer. */
  #reader(kind, value) {
    const info = this.#of(kind);
    if (!info) return undefined;
    const content = this.#edited.get(kind) ?? this.#contents.get(info.hash);
    const { cells: [width, height], edge } = info;
    const within = (at, cells) => Math.min(cells - 1, Math.max(0, Math.floor(at / edge)));
    return (x, y) => value(content, within(y, height) * width + within(x, width));
  }

  /** Paints them over a square of the ground: the arguments are those of `paintGround`. */
  paint(canvas, left, top, edge, { low, high }) {
    const isWall = this.#reader("Blocked", (bytes, at) => (bytes[at >> 3] >> (at & 7)) & 1);
    const tag = this.#reader("Tag", (bytes, at) => bytes[at]);
    const height = this.#reader("Height", (bytes, at) => ((bytes[2 * at] | (bytes[2 * at + 1] << 8)) << 16) >> 16);
    if (!isWall && !tag && !height) return;
    const pixels = canvas.width;
    const image = new ImageData(pixels, pixels);
    const { data } = image;
    const unit = edge / pixels;
    const side = Math.max(unit, SIDE * (this.#of("Blocked")?.edge ?? 0));
    const slope = Math.max(2 * unit, this.#of("Height")?.edge ?? 0);
    const put = (at, [red, green, blue], alpha) => {
      [data[at], data[at + 1], data[at + 2], data[at + 3]] = [red, green, blue, 255 * alpha];
    };
    /** Puts black or white over what is there. */
    const shade = (at, gray, share) => {
      const below = (data[at + 3] / 255) * (1 - share);
      for (let part = at; part < at + 3; part += 1) data[part] = (gray * share + data[part] * below) / (share + below);
      data[at + 3] = 255 * (share + below);
    };
    for (let row = 0, at = 0; row < pixels; row += 1) {
      const y = top - (row + 0.5) * unit;
      for (let column = 0; column < pixels; column += 1, at += 4) {
        const x = left + (column + 0.5) * unit;
        if (x < low[0] || y < low[1] || x >= high[0] || y >= high[1]) continue;
        if (isWall?.(x, y)) {
          put(at, isWall(x, y - side) ? TOP : FACE, 1);
          continue;
        }
        const own = tag && this.#tags[tag(x, y) - 1];
        if (own) put(at, own, 0.62);
        if (height) {
          // Light comes from the north-west, and what is high is light.
          const up = height(x, y);
          const lit = (up - height(x - slope, y + slope)) / 24 + Math.min(0.3, up / 300);
          if (lit) shade(at, lit < 0 ? 0 : 255, Math.min(0.5, Math.abs(lit)));
        }
        if (isWall?.(x - side, y + side)) shade(at, 0, 0.35);
      }
    }
    const layer = new OffscreenCanvas(pixels, pixels);
    layer.getContext("2d").putImageData(image, 0, 0);
    canvas.getContext("2d").drawImage(layer, 0, 0);
  }
}

/** All of a stream that has at most so many bytes. */
async function read(stream, most) {
  const bytes = new Uint8Array(most);
  const reader = stream.getReader();
  let length = 0;
  for (;;) {
    const { done, value: part } = await reader.read();
    if (done) break;
    if (length + part.length > most) throw new Error(`a layer has more than ${most} bytes`);
    bytes.set(part, length);
    length += part.length;
  }
  return bytes.subarray(0, length);
}
