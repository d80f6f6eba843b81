// The player, the chosen one, and the drawer: connection, world, all values.

import { element, find, show } from "./elements.js";
import { paintFigure } from "./look.js";

const HISTORY = 60;
/** Values of the chosen one beside the picture; the drawer has all. */
const FEW = 4;
const ICON = 40;

export class Panel {
  #schema = null;
  #history = [];
  #bytes = { at: 0, count: 0, rate: 0 };

  /** `choose` is called with the slot of a thing that is pressed. */
  constructor(choose) {
    for (const id of ["own", "chosen"]) {
      find(id).addEventListener("click", ({ target }) => target.dataset.slot && choose(Number(target.dataset.slot)));
    }
    const open = (isOpen) => {
      find("drawer").hidden = !isOpen;
      document.body.classList.toggle("has-drawer", isOpen);
      find("drawer-button").setAttribute("aria-expanded", String(isOpen));
    };
    find("drawer-button").addEventListener("click", () => open(find("drawer").hidden));
    find("drawer-close").addEventListener("click", () => open(false));
    addEventListener("keydown", (event) => event.key === "Escape" && open(false));
  }

  setSchema(schema, looks) {
    this.#schema = schema;
    find("world").textContent = schema.name || "a world";
    const size = schema.size.map((edge) => Math.round(edge)).join(" × ");
    find("size").textContent = `${size} · ${schema.tick_hz} ticks a second`;
    find("kinds").replaceChildren(
      ...schema.kinds.map((kind, number) =>
        // What the whole world shares has a card of its own.
        element("span", { hidden: schema.world !== null && kind.name === "world" }, iconOf(looks[number]), kind.name),
      ),
    );
  }

  /** The bars of the player and of the chosen one, in each frame: shares, and their ranges. */
  showBars(own, ownRange, chosen, chosenRange) {
    showBar(find("own-bar"), own, ownRange);
    showBar(find("chosen-bar"), chosen, chosenRange);
  }

  /** What the player, the chosen one, the chosen thing and the world have. `bar` is the name of what bars show. */
  showEntities(own, chosen, thing, shared, bar) {
    find("shared-card").hidden = !shared;
    if (shared) find("shared").replaceChildren(...this.#values(shared.values));
    show(find("own"), this.#rows(own, thing));
    find("own-name").textContent = own?.name ?? "you";
    const both = [chosen, thing].filter(Boolean);
    find("chosen-card").hidden = !both.length;
    find("chosen-all").hidden = !chosen;
    if (!both.length) return;
    find("chosen-name").textContent = both.map(({ name, kind, slot }) => name ?? `${kind} ${slot}`).join(" · ");
    const few = valuesOf(thing ?? chosen).filter(([name]) => name !== bar);
    find("chosen-few").replaceChildren(...this.#values(few.slice(0, FEW)));
    if (chosen) show(find("chosen"), this.#rows(chosen, thing));
  }

  /** The first ones of each ranking, and the player's place. */
  showRankings(rankings) {
    find("rankings").replaceChildren(
      ...rankings.flatMap(({ name, own, first }) => [
        element("h2", {}, own ? `${name} · you are ${own}.` : name),
        ...this.#values(first.map(([who, value], at) => [`${at + 1}. ${who}`, value])),
      ]),
    );
  }

  #rows(entity, thing) {
    if (!entity) return [element("p", { className: "faint" }, "not in the world")];
    const place = entity.place?.slice(0, this.#schema.size.length).map((at) => at.toFixed(1)).join(", ");
    const rows = [[entity.kind, `#${entity.slot}`], ["place", place ?? ""], ...entity.values];
    return [...this.#values(rows), ...bagOf(entity, thing?.slot), ...this.#members(entity)];
  }

  /** The other members of the player's groups: bars of what has a range, else values. */
  #members({ members = [] }) {
    const value = ([name, value, range]) => {
      if (!range) return element("span", {}, `${name} ${value}`);
      const [min, max] = range;
      return element("meter", { min, max, value, title: `${name} ${value} / ${max}` });
    };
    const row = (member) => {
      const name = element("b", {}, member.name ?? `#${member.slot}`);
      return element("li", {}, name, element("span", {}, member.groups.join(", ")), ...member.values.map(value));
    };
    return members.length ? [element("ul", { className: "members" }, ...members.map(row))] : [];
  }

  #values(rows) {
    return rows.map(([name, value]) => {
      const text = value === null ? "none" : typeof value === "number" ? String(Math.round(value * 100) / 100) : String(value);
      return element("div", { className: "row" }, element("span", {}, name), element("b", {}, text));
    });
  }

  showQuality(quality, frames, now, way) {
    const seconds = (now - this.#bytes.at) / 1000;
    const bytes = quality.received_bytes - this.#bytes.count;
    this.#bytes = { at: now, count: quality.received_bytes, rate: Math.max(0, bytes / seconds) };
    const milliseconds = (time) => (time === null ? "–" : `${Math.round(time)} ms`);
    const figures = {
      way: way ?? "–",
      "round-trip": milliseconds(quality.round_trip_ms),
      jitter: milliseconds(quality.jitter_ms),
      loss: `${quality.late_percent.toFixed(0)} %`,
      correction: quality.correction ? `${quality.correction.toFixed(2)} units` : "none",
      delay: milliseconds(quality.delay_ms),
      rate: `${(this.#bytes.rate / 1000).toFixed(1)} kB/s`,
      view: String(quality.in_view),
      frames: String(frames),
    };
    for (const [id, text] of Object.entries(figures)) find(id).textContent = text;
    this.#history.push(quality.round_trip_ms ?? 0);
    if (this.#history.length > HISTORY) this.#history.shift();
    const most = Math.max(50, ...this.#history);
    const points = this.#history.map((time, i) => `${(i * 200) / (HISTORY - 1)},${38 - (34 * time) / most}`);
    find("trace").setAttribute("points", points.join(" "));
    const link = quality.is_link_good ? "playing" : "unstable";
    const state = quality.is_playing ? (quality.is_dead ? "dead" : link) : "waiting";
    document.body.dataset.state = state;
    const states = { dead: "you are dead", playing: quality.round_trip_ms === null ? "in the world" : figures["round-trip"], unstable: "unstable", waiting: "not connected" };
    find("state").textContent = states[state];
  }
}

/** What is said of a thing: where it is in the list says who holds it. */
const valuesOf = ({ values }) => values.filter(([name]) => name !== "holder");

/** What an entity has, each thing with what it has itself; the like are one line. */
function bagOf({ things }, chosen) {
  if (!things.length) return [];
  const lines = new Map();
  for (const thing of things) {
    const text = [thing.kind, ...valuesOf(thing).map(([name, value]) => `${name} ${value}`)].join(" · ");
    const key = thing.things.length ? thing.slot : text;
    const line = lines.get(key) ?? { text, things: [] };
    line.things.push(thing);
    lines.set(key, line);
  }
  const rows = [...lines.values()].map(({ text, things }) => {
    const slots = things.map(({ slot }) => slot);
    const isChosen = slots.includes(chosen);
    const button = element("button", { type: "button" }, slots.length > 1 ? `${text} ×${slots.length}` : text);
    button.dataset.slot = isChosen ? chosen : slots[0];
    button.setAttribute("aria-pressed", String(isChosen));
    return element("li", {}, button, ...bagOf(things[0], chosen));
  });
  return [element("ul", { className: "bag" }, ...rows)];
}

function showBar(bar, share, range) {
  bar.hidden = !range;
  if (!range) return;
  const [least, most] = range;
  const value = Math.round(least + share * (most - least));
  const text = `${value} / ${Math.round(most)}`;
  if (bar.lastElementChild.textContent === text) return;
  bar.lastElementChild.textContent = text;
  bar.firstElementChild.style.width = `${100 * share}%`;
  bar.firstElementChild.style.background = `hsl(${Math.round(115 * share)} 60% 42%)`;
}

/** The figure of a kind, small. */
function iconOf(look) {
  const icon = element("canvas", { width: ICON, height: ICON, className: "icon" });
  const context = icon.getContext("2d");
  context.translate(ICON / 2, ICON / 2);
  context.scale(ICON / 2.3, ICON / 2.3);
  paintFigure(context, look);
  return icon;
}
