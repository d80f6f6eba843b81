// Clients and entities: lists, one inspected, and what an operator does about clients.

import { act, get } from "/dashboard/server.js";
import { format } from "/dashboard/charts.js";
import { iconOf } from "/dashboard/map.js";

const byId = (id) => document.getElementById(id);

function cell(text, tag = "td") {
  const cell = document.createElement(tag);
  cell.textContent = text;
  return cell;
}

/// A row of a table; all cells are text.
export function row(cells, data = {}) {
  const line = document.createElement("tr");
  line.append(...cells.map((text) => cell(text)));
  Object.assign(line.dataset, data);
  return line;
}

/// The attributes of an entity, with links to those that it names.
export function attributeRows({ attributes }) {
  return attributes.map(({ name, value, audience }) => {
    const text = value?.slot !== undefined ? `entity ${value.slot}` : (value ?? "none");
    const line = row([name, typeof text === "number" ? Number(text.toFixed(3)) : text, audience]);
    if (value?.slot !== undefined) line.dataset.slot = value.slot;
    return line;
  });
}

/// The things of an entity, each below what holds it.
export function thingRows({ things }, depth = 0) {
  return things.flatMap((thing) => {
    const values = thing.attributes.filter(({ audience }) => audience !== "movement").map(({ name, value }) => {
      const text = value?.slot !== undefined ? `entity ${value.slot}` : (value ?? "none");
      return `${name} ${text}`;
    });
    const line = row([`${"· ".repeat(depth)}${thing.kind}`, values.join(", "), `${thing.slot}`], { slot: thing.slot });
    return [line, ...thingRows(thing, depth + 1)];
  });
}

export class People {
  constructor(world, map, say) {
    this.world = world;
    this.map = map;
    this.say = say;
    this.first = 0;
    this.next = null;
    /// What is inspected: { slot } or { number }.
    this.inspected = null;
    byId("earlier").addEventListener("click", () => this.turn(0));
    byId("later").addEventListener("click", () => this.turn(this.next ?? this.first));
    byId("tell-all").addEventListener("click", () => this.tell(null, "all clients"));
    byId("clients").addEventListener("click", (event) => {
      const line = event.target.closest("tr[data-number]");
      if (line) this.inspect({ number: Number(line.dataset.number) });
    });
    for (const id of ["inspected", "shared", "log"]) {
      byId(id).addEventListener("click", (event) => {
        const line = event.target.closest("[data-slot]");
        if (line) this.inspect({ slot: Number(line.dataset.slot) });
      });
    }
    byId("find").addEventListener("submit", (event) => {
      event.preventDefault();
      this.find(byId("find-text").value.trim());
    });
    byId("act-cancel").addEventListener("click", () => byId("act-dialog").close(""));
  }

  turn(first) {
    this.first = first;
    return this.list();
  }

  /// Looks for a client by number, name or account.
  async find(text) {
    const ways = /^\d+$/.test(text) ? ["number", "name", "account"] : ["name", "account"];
    for (const way of ways) {
      const found = await get("client", { [way]: text }).catch(() => null);
      if (found) return this.inspect({ number: found.client.number });
    }
    this.say(`no client is called ${text}`);
  }

  async list() {
    const { clients, next, tick_ms } = await get("clients", { first: this.first });
    this.next = next;
    byId("earlier").disabled = this.first === 0;
    byId("later").disabled = next === null;
    byId("clients").replaceChildren(...clients.map((client) => {
      const { number, name, account, entity, link } = client;
      const of = (text) => (link ? text(link) : "–");
      return row([
        number, name ?? "–", account ?? "–", entity ? `${entity[0]}.${entity[1]}` : "–",
        of((link) => `${link.round_trip_ms} ms`), of(lost), of((link) => `${(link.age_ticks * tick_ms).toFixed(0)} ms`),
        of((link) => link.in_view), of((link) => `${format(link.bytes_sent, "bytes")}B`),
      ], { number });
    }));
  }

  /// Shows an entity or a client, until something else is chosen.
  inspect(what) {
    this.inspected = what;
    this.shown = null;
    return this.look().catch((error) => this.say(error.message));
  }

  async look() {
    const what = this.inspected;
    if (!what) return;
    try {
      const parts = what.slot !== undefined ? await this.entity(what) : await this.client(what);
      if (this.inspected === what) byId("inspected").replaceChildren(...parts);
    } catch (error) {
      if (error.status !== 409) throw error;
      if (this.inspected === what) byId("inspected").replaceChildren(cell(error.message, "p"));
    }
  }

  async entity({ slot }) {
    const entity = await get("entity", { slot });
    this.map.chosen = slot;
    byId("inspected-title").textContent = `Entity ${slot}.${entity.generation}, ${entity.kind}`;
    const speed = Math.hypot(...entity.velocity);
    const lines = [
      row(["name", entity.name ?? "–", ""]), row(["speed", speed.toFixed(2), "units/s"]),
      ...attributeRows(entity), ...thingRows(entity),
    ];
    return [table(lines)];
  }

  async client({ number }) {
    const { client, tick_ms, seen, within_sight } = await get("client", { number });
    byId("inspected-title").textContent = `Client ${number}${client.name ? `, ${client.name}` : ""}`;
    this.map.chosen = client.entity?.[0] ?? null;
    const { link } = client;
    const known = link ? [
      ["address", link.address], ["shard", link.shard], ["round trip", `${link.round_trip_ms} ms`], ["packets lost", lost(link)],
      ["age of its world", `${(link.age_ticks * tick_ms).toFixed(0)} ms`], ["sent, received", `${format(link.bytes_sent, "bytes")}B, ${format(link.bytes_received, "bytes")}B`],
      ["stream waits", `${format(link.bytes_unsent, "bytes")}B`], ["in view, of these not sent yet", `${link.in_view}, ${link.waiting}`],
    ] : [["connection", "lost"]];
    const facts = [["account", client.account ?? "–"], ["entity", client.entity?.join(".") ?? "–"], ["sight", `${client.sight} units`], ...known];
    const entities = seen.map(([slot, kind, distance]) => {
      const line = row(["", `${slot}`, distance.toFixed(1)], { slot });
      line.firstChild.append(iconOf(this.map.looks[kind]), this.world.kinds[kind]);
      return line;
    });
    const around = document.createElement("div");
    around.className = "scroll";
    around.append(table(entities));
    const shown = seen.length < within_sight ? `, the nearest ${seen.length} of ${within_sight}` : "";
    return [table(facts.map((fact) => row(fact))), this.buttons(client), cell(`Within its sight${shown}: kind, slot, distance`, "p"), around];
  }

  buttons({ number, name }) {
    // The same ones for as long as the client is shown, so that they can be pressed.
    this.shown ??= (() => {
      const acts = document.createElement("p");
      acts.className = "acts";
      const who = name ?? `client ${number}`;
      const button = (text, press) => {
        const button = document.createElement("button");
        button.type = "button";
        button.id = `do-${text.toLowerCase()}`;
        button.textContent = text;
        button.addEventListener("click", press);
        acts.append(button);
      };
      button("Message", () => this.tell({ number }, who));
      button("Kick", () => this.kick(number, who));
      return acts;
    })();
    return this.shown;
  }

  async tell(whom, who) {
    const text = await ask(`Message to ${who}`, "Send");
    if (text) await this.act({ do: "tell", whom, text });
  }

  async kick(number, who) {
    const reason = await ask(`Kick ${who}? Reason for the player:`, "Kick");
    if (reason !== null) await this.act({ do: "kick", whom: { number }, reason });
  }

  async act(what) {
    try {
      const { clients } = await act(what);
      this.say(`done, ${clients} clients concerned`);
      await this.list();
    } catch (error) {
      this.say(error.message);
    }
  }
}

/// Asks the operator for a text; `null` if there is none.
function ask(title, go) {
  const [dialog, text] = [byId("act-dialog"), byId("act-text")];
  byId("act-title").textContent = title;
  byId("act-go").textContent = go;
  text.value = "";
  dialog.returnValue = "";
  byId("act-go").value = "go";
  dialog.showModal();
  return new Promise((answer) => {
    dialog.addEventListener("close", () => answer(dialog.returnValue === "go" ? text.value : null), { once: true });
  });
}

function table(lines) {
  const [table, body] = [document.createElement("table"), document.createElement("tbody")];
  body.append(...lines);
  table.append(body);
  return table;
}

function lost(link) {
  const part = link.packets_sent > 0 ? (100 * link.packets_lost) / link.packets_sent : 0;
  return `${part.toFixed(1)} %`;
}
