/** A unit, in the engine's numbers: fixed-point numbers are multiplied by it. */
export const ONE: 4096;

/** Where the client's WebAssembly is. */
export const wasm: URL;

/** Fetches the client, and makes one. */
export function load(url: string | URL): Promise<Game>;

/** The value of an attribute: symbols by their text. */
export type Value = number | boolean | string | null;

/** Something that has happened. */
export interface Happening {
  type: "welcomed" | "resumed" | "reborn" | "died" | "lost" | "link" | "interface" | "refused" | "answer" | "talk" | "notice" | "cells" | "changed" | "member";
  /** A sentence or a name. */
  text: string;
  slot: number | null;
  /** What lines of a log about the same have in common. */
  topic: string | null;
  /** Of a loss: milliseconds until the next attempt. */
  retry_ms: number | null;
  /** Of a loss: its code by name. */
  code: string | null;
  /** Of a loss: its code in a few words, for players. */
  words: string | null;
  /** Of a server of another version: which one it speaks. */
  server_version: number | null;
  /** Of a server of another version: where players get the game for it. */
  update_url: string | null;
  /** Of a change of the link: whether the server sends as it should. */
  is_good: boolean | null;
  /** Of a refusal: the names of the commands. */
  commands: string[];
  /** Of a change: the name of the attribute. */
  attribute: string | null;
  /** Of a notification: its name. */
  notification: string | null;
  /** Of a change: what it was, and is. Of a notification: its fields. An entity is its slot. */
  values: unknown[];
  /** Of `cells`, in order: the layer, 0 for `Blocked`, 1 for `Height`, 2 for `Tag`; the number of the cell, row by
      row from the lowest `y`; and what it is now. After a welcome come all that differ from the content. */
  edits: [number, number, number][];
}

/** What the world is made of. */
export interface Schema {
  name: string;
  /** The length of each axis, in units. */
  size: number[];
  /** How far a client sees, in units. */
  aoi: number;
  tick_hz: number;
  kinds: Kind[];
  attributes: { name: string }[];
  /** Those that the player can give. */
  commands: CommandSchema[];
  symbols: string[];
  zones: Zone[];
  /** The slot of what the whole world shares. */
  world: number | null;
  /** Where its planes are, in units; null: it has none. */
  planes: {
    size: [number, number];
    gap: number;
    groups: {
      name: string;
      size: [number, number];
      copies: number;
      columns: number;
      stride: [number, number];
      low: number;
    }[];
  } | null;
}

/** A plane: 0 is the world itself, which has no name. */
export interface Plane {
  number: number;
  name: string | null;
  copy: number;
  /** Its corners, in units. */
  low: [number, number];
  high: [number, number];
}

/** The plane that a place is in; between planes, one of those beside it. */
export function planeAt(schema: Schema, place: number[]): Plane;

export interface Kind {
  name: string;
  /** Column, least and greatest value of its attributes that have bounds. */
  ranges: [number, Value, Value][];
}

export interface Ranking {
  name: string;
  /** The own place, from 1 on; null: the server has not said it, or the own entity has none. */
  own: number | null;
  /** The first places: the name of a player, or a kind and a slot, and the value. */
  first: [string, Value][];
}

export interface Zone {
  name: string;
  /** The kind whose entities each carry one. */
  carrier: number | null;
  is_round: boolean;
  /** The low corner of the box around it, then the high one, in units. */
  corners: number[];
}

export interface CommandSchema {
  /** What `Game.command` takes. */
  number: number;
  name: string;
  words: { name: string; type: "i32" | "fixed" | "bool" | "entity" | "symbol" | "text" }[];
  /** The word with which its only point begins. */
  point: number | null;
  /** For how many ticks it rests after a use. */
  cooldown: number;
}

/** An entity in view. */
export interface Entity {
  slot: number;
  generation: number;
  /** As a command's word. */
  reference: number;
  /** The name of its kind. */
  kind: string;
  /** Of its player, if it has one with a name. */
  name: string | null;
  /** As it is shown, in units; `null` if it is not. */
  place: [number, number, number] | null;
  /** What its texts say. */
  texts: string[];
  /** Names and values of what the player may know. */
  values: [string, Value][];
  /** The same in the engine's own numbers, by column. */
  row: number[];
  /** The things of it that the player sees, by slot; at most 64. */
  things: Entity[];
  /** Of the player's own entity: the other members of its groups, by slot, wherever they are. */
  members: Member[];
}

/** Another member of a group of the player's. */
export interface Member {
  slot: number;
  generation: number;
  /** Of its player, if it has one. */
  name: string | null;
  /** The attributes that refer to the groups to which both belong, such as `party`. */
  groups: string[];
  /** Names, values and ranges of what it shares; a value without a range has `null`. */
  values: [string, Value, [Value, Value] | null][];
}

/** How good the connection is. */
export interface Quality {
  is_playing: boolean;
  is_dead: boolean;
  /** Whether the server sends as it should, while the client is in the world. */
  is_link_good: boolean;
  /** The slot of the own entity. */
  own: number | null;
  round_trip_ms: number | null;
  jitter_ms: number;
  /** By how much others are shown later than they are received. */
  delay_ms: number;
  /** Of 100 inputs: those that came too late, or were lost. */
  late_percent: number;
  /** How far off the prediction was last, in units. */
  correction: number;
  in_view: number;
  received_bytes: number;
  datagrams: number;
}

/** The connection of a game, which it tells what to do: it has no sockets of its own. */
export class Game {
  /** `wasm` is what game.wasm exports. */
  constructor(wasm: WebAssembly.Exports);
  /** Begins: with the server's token or "", and a ticket of an earlier game to come back. */
  begin(token: string, ticket: Uint8Array | null): void;
  /**
   * Sets the text of generated bindings, before `begin`: a world that lacks some of what they name is
   * left, with a loss `schema_mismatch`. Then changes are among what `poll` gives, too.
   */
  bind(bindings: string): void;
  /** What the transport is to do. All times are milliseconds since some moment. */
  nextStep(now: number): "wait" | "connect" | "close";
  /** Where to connect next, as HOST:PORT: another server that one has named. `null`: the page's own. */
  address(): string | null;
  opened(): void;
  /** The connection has ended: with a code of the server, or -1. */
  closed(code: number, reason: string, now: number): void;
  /** Leaves for good. */
  leave(): void;
  /** Throws where the bytes can't be read: the connection is to be closed. */
  takeStream(bytes: Uint8Array, now: number): void;
  /** Throws where the bytes can't be read: the connection is to be closed. */
  takeDatagram(bytes: Uint8Array, now: number): void;
  giveStream(): Uint8Array | null;
  giveDatagram(now: number): Uint8Array | null;
  /** What has happened since the last call. */
  poll(now: number): Happening[];
  /** The tick that is due for commands, or -1. */
  inputDue(now: number): number;
  /** Gives a command, its words in the engine's numbers. Throws where the world has none. */
  command(number: number, words: ArrayLike<number> | (number | string)[]): void;
  /** Throws outside of a world. */
  talk(what: "say" | "whisper" | "mute" | "unmute", to: string, text: string): void;
  /** After how many ticks a command can be used again. */
  rest(number: number, now: number): number;
  /** The entities as they are shown now, for `each`. `bar` is the attribute of their bars, or -1. */
  entities(bar: number): Float32Array;
  schema(): Schema | null;
  /** The rankings of the world: they are asked for from the first call on. */
  rankings(): Ranking[];
  /** What the cells of the world are, without their content. */
  layers(): Layer[];
  /** Hands in the content of a missing layer. Throws unless it has the hash. */
  putLayer(hash: string, content: Uint8Array): void;
  /** Asks the server for the missing layers, which come packed. */
  fetchLayers(): void;
  /** A layer that has come, as a zlib stream. */
  takePackedLayer(): { hash: string; bytes: Uint8Array } | null;
  /** The attributes of an entity in view. */
  entity(slot: number): Entity | null;
  /** How good the connection is. */
  quality(): Quality | null;
  /** With it, a later game comes back as the same entity. */
  ticket(): Uint8Array | null;
}

/** A layer of the world: one value for each cell. */
export interface Layer {
  kind: string;
  /** The number of cells along each axis. */
  cells: [number, number];
  /** The edge of a cell, in units. */
  edge: number;
  /** Of its content, in hexadecimal digits: `/layers/<hash>` has it. */
  hash: string;
  /** The length of its content, unpacked. */
  bytes: number;
  /** The names of the tags 1, 2, … */
  tags: string[];
  /** Whether its content has not come yet. */
  is_missing: boolean;
}

/** An entity as it is shown, in units. */
export interface Shown {
  slot: number;
  kind: number;
  x: number;
  y: number;
  z: number;
  isOwn: boolean;
  isNamed: boolean;
  /** Other texts have another mark; 0: none. */
  textMark: number;
  /** How full its bar is, from 0 to 1; below 0: it has none. */
  share: number;
}

/** Visits what `Game.entities` gave. */
export function each(entities: Float32Array, visit: (shown: Shown) => void): void;

/** The bytes of a text of hexadecimal digits. */
export function bytesOf(digits: string): Uint8Array;

/** The request of a line of talk, for `Game.talk`: `/whisper NAME: TEXT` and so on. */
export function talkOf(line: string): { what: "say" | "whisper" | "mute" | "unmute"; to: string; text: string };

/** A game's connection over WebTransport, or over WebSocket where that does not connect. */
export class Transport {
  /** Bytes that were sent so far. */
  sent: number;
  /**
   * `port` is used instead of the server's own, if another is forwarded to that. `server` is the
   * address of the server's page, for a page from elsewhere. `forced` is the only way to try.
   */
  constructor(
    game: Game,
    now: () => number,
    port?: number | null,
    server?: string,
    forced?: "webtransport" | "websocket" | null,
  );
  /** The names by which a way can be forced. */
  static ways(): string[];
  /** The name of the way in use, for people. */
  get way(): string | null;
  /** Opens a connection, as the game has requested. */
  connect(): Promise<void>;
  /** Sends what the game has to send. */
  flush(): void;
  /** Closes the connection; the game expects it. */
  close(code: number, reason: string): void;
}
