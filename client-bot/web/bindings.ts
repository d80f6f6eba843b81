// What the bindings of a world in TypeScript stand on: `myriad bindings --lang ts` writes them, and
// this file belongs beside them. The client is the `Game` of page/game.js.

/** The parts of `Game` that bindings use. */
export interface Game {
  bind(bindings: string): void;
  schema(): Schema | null;
  entity(slot: number): EntityText | null;
  entities(bar: number): Float32Array;
  command(number: number, words: (number | string)[]): void;
}

export interface Schema {
  kinds: { name: string }[];
  commands: { number: number; name: string }[];
  symbols: string[];
  world: number | null;
}

export interface EntityText {
  slot: number;
  generation: number;
  reference: number;
  kind: string;
  name: string | null;
  place: [number, number, number] | null;
  values: [string, Value][];
  things: EntityText[];
}

/** One of what `Game.poll` gives. */
export interface GameEvent {
  type: string;
  slot: number | null;
  attribute: string | null;
  notification: string | null;
  values: Value[];
}

/** A number, a truth, a symbol by its name, a text, an entity by its slot, or nothing. */
export type Value = number | boolean | string | null;

/** A place in units. */
export type Place = readonly [number, number, number?];

/** A unit, in the engine's numbers. */
const ONE = 4096;
/** Numbers of an entity that `Game.entities` gives: slot, kind, x, y, z, what it is, a bar. */
const FLOATS = 7;

/** An entity in view, as it was when it was asked for. */
export class Seen {
  readonly slot: number;
  readonly generation: number;
  /** What stands for it in commands. */
  readonly reference: number;
  /** The name of its player. */
  readonly playerName: string | null;
  readonly place: readonly [number, number, number];
  readonly isOwn: boolean;
  /** What it holds itself, as far as the player sees it. */
  readonly things: readonly EntityText[];
  readonly #values: Map<string, Value>;

  constructor(text: EntityText, isOwn: boolean) {
    this.slot = text.slot;
    this.generation = text.generation;
    this.reference = text.reference;
    this.playerName = text.name;
    this.place = text.place ?? [0, 0, 0];
    this.isOwn = isOwn;
    this.things = text.things;
    this.#values = new Map(text.values);
  }

  /** Its distance from a place, in units. */
  distance(place: Place): number {
    const [x, y, z] = this.place;
    return Math.hypot(x - place[0], y - place[1], z - (place[2] ?? z));
  }

  /** The value of an attribute; nothing where this client does not know it. */
  protected value<T extends Value>(attribute: string): T {
    return (this.#values.get(attribute) ?? null) as T;
  }
}

/** The entities of a kind in view. */
export class Entities<T extends Seen> implements Iterable<T> {
  readonly #all: () => Iterable<T>;

  constructor(all: () => Iterable<T>) {
    this.#all = all;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#all()[Symbol.iterator]();
  }

  /** Those that are shown at most so far from a place, in units. */
  within(place: Place, radius: number): T[] {
    return [...this].filter((one) => one.distance(place) <= radius);
  }

  /** The one that is shown nearest to a place. */
  nearest(place: Place): T | undefined {
    return [...this].sort((a, b) => a.distance(place) - b.distance(place))[0];
  }
}

type Constructor<T> = new (text: EntityText, isOwn: boolean) => T;

/** A game in a world that bindings were made of. */
export abstract class Bound {
  readonly game: Game;

  constructor(game: Game, bindings: string) {
    this.game = game;
    game.bind(bindings);
  }

  /** The entities of a kind in view. */
  protected all<T extends Seen>(kind: string, of: Constructor<T>): Entities<T> {
    return new Entities(() => this.#each(kind, of));
  }

  /** The things of a kind that an entity, or a thing, holds itself. */
  protected held<T extends Seen>(holder: Seen, kind: string, of: Constructor<T>): T[] {
    const held = holder.things.filter((thing) => thing.kind === kind);
    return held.map((thing) => new of(thing, holder.isOwn));
  }

  /** What the whole world shares. */
  protected sharedByAll<T extends Seen>(of: Constructor<T>): T | null {
    const slot = this.game.schema()?.world ?? null;
    const text = slot === null ? null : this.game.entity(slot);
    return text && new of(text, false);
  }

  /** Gives a command. It throws outside of the world. */
  protected give(name: string, words: (number | string)[]): void {
    const command = this.game.schema()?.commands.find((command) => command.name === name);
    if (!command) throw new Error(`clients of this world cannot give \`${name}\``);
    this.game.command(command.number, words);
  }

  /** Words of commands. */
  protected fixed(number: number): number {
    return Math.round(number * ONE);
  }

  protected symbol(name: string): number {
    return this.game.schema()?.symbols.indexOf(name) ?? -1;
  }

  *#each<T extends Seen>(kind: string, of: Constructor<T>): Iterable<T> {
    const number = this.game.schema()?.kinds.findIndex(({ name }) => name === kind) ?? -1;
    const entities = this.game.entities(-1);
    for (let i = 0; i < entities.length; i += FLOATS) {
      const text = entities[i + 1] === number ? this.game.entity(entities[i]!) : null;
      if (text) yield new of(text, (entities[i + 5]! & 1) !== 0);
    }
  }
}
