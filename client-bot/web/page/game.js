// The game's client in WebAssembly, with its buffers as values of this language.

const FLOATS = 7;
const TALKS = ["say", "whisper", "mute", "unmute"];
/** A unit, in the engine's numbers. */
export const ONE = 4096;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export async function load(url) {
  const response = await fetch(url);
  const { instance } = await WebAssembly.instantiate(await response.arrayBuffer(), {});
  return new Game(instance.exports);
}

export class Game {
  constructor(wasm) {
    this.wasm = wasm;
  }

  begin(token, ticket) {
    const text = encoder.encode(token);
    const bytes = new Uint8Array(text.length + (ticket ? ticket.length : 0));
    bytes.set(text);
    if (ticket) bytes.set(ticket, text.length);
    this.#put(bytes);
    this.wasm.begin(ticket ? 1 : 0, Math.random());
  }

  /** Sets the text of generated bindings, before `begin`: a world that lacks some of what they name is
   *  left, with a loss `schema_mismatch`. Then changes are among what `poll` gives, too. */
  bind(bindings) {
    this.#put(encoder.encode(bindings));
    this.wasm.bind();
  }

  /** What the transport is to do: "wait", "connect" or "close". */
  nextStep(now) {
    return ["wait", "connect", "close"][this.wasm.next_step(now)];
  }

  /** Where to connect next, as HOST:PORT: another server that one has named. `null`: the page's own. */
  address() {
    const bytes = this.#get(this.wasm.address());
    return bytes && decoder.decode(bytes);
  }

  opened() {
    this.wasm.opened();
  }

  closed(code, reason, now) {
    this.#put(encoder.encode(reason));
    this.wasm.closed(code, now);
  }

  leave() {
    this.wasm.leave();
  }

  /** Both throw where the bytes can't be read: the connection is to be closed. */
  takeStream(bytes, now) {
    this.#put(bytes);
    this.#check(this.wasm.take_stream(now));
  }

  takeDatagram(bytes, now) {
    this.#put(bytes);
    this.#check(this.wasm.take_datagram(now));
  }

  giveStream() {
    return this.#get(this.wasm.give_stream());
  }

  giveDatagram(now) {
    return this.#get(this.wasm.give_datagram(now));
  }

  /** What has happened since the last call. */
  poll(now) {
    return this.#json(this.wasm.poll(now)) ?? [];
  }

  inputDue(now) {
    return this.wasm.input_due(now);
  }

  /** Throws where the world has no such command. */
  command(number, words) {
    if (words.some((word) => typeof word === "string")) return this.#commandWith(number, words);
    this.#put(new Uint8Array(Int32Array.from(words).buffer));
    this.#check(this.wasm.command(number));
  }

  /** The same, where some words are texts. */
  #commandWith(number, words) {
    const numbers = Int32Array.from(words, (word) => (typeof word === "string" ? 0 : word));
    const texts = words.filter((word) => typeof word === "string").map((text) => encoder.encode(text));
    const parts = [numbers, ...texts.flatMap((text) => [Int32Array.of(text.length), text])];
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
    let at = 0;
    for (const part of parts) {
      bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
      at += part.byteLength;
    }
    this.#put(bytes);
    this.#check(this.wasm.command_with(number, words.length));
  }

  /** Talks: `what` is one of TALKS. Throws outside of a world. */
  talk(what, to, text) {
    const [whom, words] = [to, text].map((part) => encoder.encode(part));
    const bytes = new Uint8Array(whom.length + words.length);
    bytes.set(whom);
    bytes.set(words, whom.length);
    this.#put(bytes);
    this.#check(this.wasm.talk(TALKS.indexOf(what), whom.length));
  }

  /** After how many ticks a command can be used again. */
  rest(number, now) {
    return this.wasm.rest(number, now);
  }

  /** The entities as they are shown now, each as FLOATS numbers. */
  entities(bar) {
    const bytes = this.#get(this.wasm.entities(bar));
    return bytes ? new Float32Array(bytes.buffer) : new Float32Array(0);
  }

  schema() {
    return this.#json(this.wasm.schema());
  }

  entity(slot) {
    return this.#json(this.wasm.entity(slot));
  }

  /** The rankings of the world, which are asked for: `{ name, own, first: [[name, value], …] }`. */
  rankings() {
    return this.#json(this.wasm.rankings()) ?? [];
  }

  /** The layers of the world: `{ kind, cells, edge, hash, bytes, tags, is_missing }`. */
  layers() {
    return this.#json(this.wasm.layers()) ?? [];
  }

  /** Hands in the content of a missing layer. Throws unless it has the hash. */
  putLayer(hash, content) {
    this.#put(content);
    this.#check(this.wasm.put_layer(BigInt(`0x${hash}`)));
  }

  /** Asks the server for the missing layers, which come packed. */
  fetchLayers() {
    this.wasm.fetch_layers();
  }

  /** A layer that has come, `{ hash, bytes }`: a zlib stream; null: none. */
  takePackedLayer() {
    const bytes = this.#get(this.wasm.take_packed_layer());
    if (!bytes) return null;
    return { hash: decoder.decode(bytes.subarray(0, 16)), bytes: bytes.subarray(16) };
  }

  quality() {
    return this.#json(this.wasm.quality());
  }

  ticket() {
    return this.#get(this.wasm.ticket());
  }

  #put(bytes) {
    const place = this.wasm.input(bytes.length);
    new Uint8Array(this.wasm.memory.buffer, place, bytes.length).set(bytes);
  }

  /** A copy: the memory may move with the next call. */
  #get(length) {
    if (length === 0) return null;
    return new Uint8Array(this.wasm.memory.buffer, this.wasm.output(), length).slice();
  }

  #json(length) {
    const bytes = this.#get(length);
    return bytes && JSON.parse(decoder.decode(bytes));
  }

  #check(length) {
    const bytes = this.#get(length);
    if (bytes) throw new Error(decoder.decode(bytes));
  }
}

/** The bytes of a text of hexadecimal digits. */
export function bytesOf(digits) {
  return Uint8Array.from(digits.match(/../g), (byte) => parseInt(byte, 16));
}

/** The request of a line of talk: a text to all that are near, or one of `/whisper NAME: TEXT`,
 *  `/mute NAME`, `/unmute NAME`. */
export function talkOf(line) {
  const whisper = line.match(/^\/whisper\s+([^:]+):\s*(.+)$/);
  if (whisper) return { what: "whisper", to: whisper[1].trim(), text: whisper[2] };
  const mute = line.match(/^\/(mute|unmute)(?:\s+(.*))?$/);
  if (mute) return { what: mute[1], to: (mute[2] ?? "").trim(), text: "" };
  return { what: "say", to: "", text: line };
}

/** The numbers of one entity, as the client gives them. */
export function each(entities, visit) {
  for (let i = 0; i < entities.length; i += FLOATS) {
    visit({
      slot: entities[i],
      kind: entities[i + 1],
      x: entities[i + 2],
      y: entities[i + 3],
      z: entities[i + 4],
      isOwn: (entities[i + 5] & 1) !== 0,
      isNamed: (entities[i + 5] & 2) !== 0,
      /** Other texts have another mark; 0: none. */
      textMark: entities[i + 5] >> 2,
      share: entities[i + 6],
    });
  }
}
