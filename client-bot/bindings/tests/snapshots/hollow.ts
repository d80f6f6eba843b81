// The world `hollow` as its clients know it. Written by `myriad bindings --lang ts`.

import { Bound, Entities, Seen } from "./bindings.ts";
import type { Game, GameEvent } from "./bindings.ts";

/** What these bindings need of a server's world. */
export const BINDINGS =
  "bindings of hollow for ts, hash 8d475559e9953da6\n" +
  "axes 2\n" +
  "kind player\n" +
  "attribute player.hp i32\n" +
  "attribute player.shield i32\n" +
  "attribute player.ready_at i32 private\n" +
  "attribute player.side symbol\n" +
  "attribute player.score i32\n" +
  "attribute player.gold i32 private\n" +
  "attribute player.herbs i32 private\n" +
  "attribute player.buyer entity\n" +
  "attribute player.bundle i32\n" +
  "attribute player.price i32\n" +
  "kind wolf\n" +
  "attribute wolf.hp i32\n" +
  "kind whelp\n" +
  "attribute whelp.hp i32\n" +
  "kind warden\n" +
  "attribute warden.hp i32\n" +
  "attribute warden.mood symbol\n" +
  "kind herb\n" +
  "attribute herb.ripe bool\n" +
  "attribute herb.owner entity\n" +
  "kind world\n" +
  "attribute world.won.elm i32\n" +
  "attribute world.won.oak i32\n" +
  "attribute world.best.elm i32\n" +
  "attribute world.best.oak i32\n" +
  "command move(x: fixed, y: fixed)\n" +
  "command strike(target: entity)\n" +
  "command heal(target: entity)\n" +
  "command pick(herb: entity)\n" +
  "command raise()\n" +
  "command offer(to: entity, herbs: i32, price: i32)\n" +
  "command accept(seller: entity, most: i32)\n" +
  "notification fall(kind: i32)\n" +
  "notification bite(prey: entity)\n" +
  "notification felled(by: entity)\n" +
  "notification deal(buyer: entity, herbs: i32, price: i32)\n" +
  "notification phase(mood: symbol)\n" +
  "symbol angry\n" +
  "symbol calm\n" +
  "symbol elm\n" +
  "symbol oak\n" +
  "symbol raging\n";

/** A symbol of the world. */
export type Symbols = "angry" | "calm" | "elm" | "oak" | "raging";

export class Player extends Seen {
  /** From 0 to 100. */
  get hp(): number {
    return this.value("hp");
  }

  /** What a shield still soaks. From 0 to 30. */
  get shield(): number {
    return this.value("shield");
  }

  /** The tick from which a shield can be raised again, and that until which no poison works. Only
   *  the entity's own client knows it. */
  get readyAt(): number | null {
    return this.value("ready_at");
  }

  /** The team, and what the player has won for it in this life. One of `elm`, `oak`. */
  get side(): Symbols | null {
    return this.value("side");
  }

  /** At least 0. */
  get score(): number {
    return this.value("score");
  }

  /** At least 0. Only the entity's own client knows it. */
  get gold(): number | null {
    return this.value("gold");
  }

  /** At least 0. Only the entity's own client knows it. */
  get herbs(): number | null {
    return this.value("herbs");
  }

  /** An offer: to whom, how many herbs, for how much gold. Of several in a tick, the first
   *  counts, with all that it says. */
  get buyer(): number | null {
    return this.value("buyer");
  }

  /** At least 0. */
  get bundle(): number {
    return this.value("bundle");
  }

  /** At least 0. */
  get price(): number {
    return this.value("price");
  }
}

export class Wolf extends Seen {
  /** From 0 to 30. */
  get hp(): number {
    return this.value("hp");
  }
}

/** Wolves that the warden calls. They are not reborn. */
export class Whelp extends Seen {
  /** From 0 to 10. */
  get hp(): number {
    return this.value("hp");
  }
}

export class Warden extends Seen {
  /** From 0 to 300. */
  get hp(): number {
    return this.value("hp");
  }

  /** One of `angry`, `calm`, `raging`. */
  get mood(): Symbols | null {
    return this.value("mood");
  }
}

export class Herb extends Seen {
  get ripe(): boolean {
    return this.value("ripe");
  }

  /** Who picks it. */
  get owner(): number | null {
    return this.value("owner");
  }
}

export class World_ extends Seen {
  /** At least 0. */
  get wonElm(): number {
    return this.value("won.elm");
  }

  /** At least 0. */
  get wonOak(): number {
    return this.value("won.oak");
  }

  get bestElm(): number {
    return this.value("best.elm");
  }

  get bestOak(): number {
    return this.value("best.oak");
  }
}

/** What is called for changes and notifications. Entities are their slots. */
export interface Handlers {
  hpChanged?(slot: number, old: number, now: number): void;
  shieldChanged?(slot: number, old: number, now: number): void;
  readyAtChanged?(slot: number, old: number, now: number): void;
  sideChanged?(slot: number, old: Symbols | null, now: Symbols | null): void;
  scoreChanged?(slot: number, old: number, now: number): void;
  goldChanged?(slot: number, old: number, now: number): void;
  herbsChanged?(slot: number, old: number, now: number): void;
  buyerChanged?(slot: number, old: number | null, now: number | null): void;
  bundleChanged?(slot: number, old: number, now: number): void;
  priceChanged?(slot: number, old: number, now: number): void;
  moodChanged?(slot: number, old: Symbols | null, now: Symbols | null): void;
  ripeChanged?(slot: number, old: boolean, now: boolean): void;
  ownerChanged?(slot: number, old: number | null, now: number | null): void;
  wonElmChanged?(slot: number, old: number, now: number): void;
  wonOakChanged?(slot: number, old: number, now: number): void;
  bestElmChanged?(slot: number, old: number, now: number): void;
  bestOakChanged?(slot: number, old: number, now: number): void;
  fallNotified?(source: number | null, fields: { kind: number }): void;
  biteNotified?(source: number | null, fields: { prey: number | null }): void;
  felledNotified?(source: number | null, fields: { by: number | null }): void;
  dealNotified?(source: number | null, fields: { buyer: number | null; herbs: number; price: number }): void;
  phaseNotified?(source: number | null, fields: { mood: Symbols | null }): void;
}

/** Calls the handler of an event that `Game.poll` has given, if it has one. */
export function react(event: GameEvent, handlers: Handlers): void {
  const { slot, values } = event;
  switch (event.attribute) {
    case "hp":
      return handlers.hpChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "shield":
      return handlers.shieldChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "ready_at":
      return handlers.readyAtChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "side":
      return handlers.sideChanged?.(slot ?? -1, values[0] as Symbols | null, values[1] as Symbols | null);
    case "score":
      return handlers.scoreChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "gold":
      return handlers.goldChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "herbs":
      return handlers.herbsChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "buyer":
      return handlers.buyerChanged?.(slot ?? -1, values[0] as number | null, values[1] as number | null);
    case "bundle":
      return handlers.bundleChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "price":
      return handlers.priceChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "mood":
      return handlers.moodChanged?.(slot ?? -1, values[0] as Symbols | null, values[1] as Symbols | null);
    case "ripe":
      return handlers.ripeChanged?.(slot ?? -1, values[0] as boolean, values[1] as boolean);
    case "owner":
      return handlers.ownerChanged?.(slot ?? -1, values[0] as number | null, values[1] as number | null);
    case "won.elm":
      return handlers.wonElmChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "won.oak":
      return handlers.wonOakChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "best.elm":
      return handlers.bestElmChanged?.(slot ?? -1, values[0] as number, values[1] as number);
    case "best.oak":
      return handlers.bestOakChanged?.(slot ?? -1, values[0] as number, values[1] as number);
  }
  switch (event.notification) {
    case "fall":
      return handlers.fallNotified?.(slot, { kind: values[0] as number });
    case "bite":
      return handlers.biteNotified?.(slot, { prey: values[0] as number | null });
    case "felled":
      return handlers.felledNotified?.(slot, { by: values[0] as number | null });
    case "deal":
      return handlers.dealNotified?.(slot, { buyer: values[0] as number | null, herbs: values[1] as number, price: values[2] as number });
    case "phase":
      return handlers.phaseNotified?.(slot, { mood: values[0] as Symbols | null });
  }
}

/** A game in the world: make one before the game begins. */
export class World extends Bound {
  constructor(game: Game) {
    super(game, BINDINGS);
  }

  /** The player's own entity, while it is in view. */
  get own(): Player | undefined {
    return [...this.all("player", Player)].find((one) => one.isOwn);
  }

  /** What the whole world shares. */
  get shared(): World_ | null {
    return this.sharedByAll(World_);
  }

  get players(): Entities<Player> {
    return this.all("player", Player);
  }

  get wolves(): Entities<Wolf> {
    return this.all("wolf", Wolf);
  }

  /** Wolves that the warden calls. They are not reborn. */
  get whelps(): Entities<Whelp> {
    return this.all("whelp", Whelp);
  }

  get wardens(): Entities<Warden> {
    return this.all("warden", Warden);
  }

  get herbs(): Entities<Herb> {
    return this.all("herb", Herb);
  }

  /** The commands that the client can give. */
  readonly commands = {
    /** A step by an offset, each axis clamped to `SPEED_MAX`. */
    move: (x: number, y: number): void => this.give("move", [this.fixed(x), this.fixed(y)]),
    /** Strikes whatever has hit points and is not of one's own team. */
    strike: (target: Seen): void => this.give("strike", [target.reference]),
    /** Eats a herb, or gives it to somebody in reach. What is on offer is not eaten. */
    heal: (target: Seen): void => this.give("heal", [target.reference]),
    /** Wants a ripe herb. All commands of a tick see it ripe, so it can't be given away here: the
     *  first of those who want it becomes its owner, and `grow` gives it to the owner. */
    pick: (herb: Seen): void => this.give("pick", [herb.reference]),
    /** Raises the shield. */
    raise: (): void => this.give("raise", []),
    /** Offers herbs to another player. */
    offer: (to: Seen, herbs: number, price: number): void => this.give("offer", [to.reference, herbs, price]),
    /** Takes an offer, for so much gold at most. */
    accept: (seller: Seen, most: number): void => this.give("accept", [seller.reference, most]),
  };
}
