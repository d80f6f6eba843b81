// The frame around the world: connection, player, commands, a log.

import { hueOf } from "./draw.js";
import { ONE } from "./game.js";

const LOG_LINES = 200;
const HISTORY = 60;
const REFUSED_MS = 1500;

const find = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export class Panel {
  #give;
  #schema = null;
  #forms = [];
  #resting = [];
  #history = [];
  #bytes = { at: 0, count: 0, rate: 0 };

  /** `give` is called with a command of the schema and its words, `talk` with a line. */
  constructor(give, talk) {
    this.#give = give;
    find("talk-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const line = find("talk").value.trim();
      find("talk").value = "";
      if (line) talk(line);
    });
    addEventListener("keydown", (event) => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      const number = Number(event.key);
      if (!isTyping && number >= 1 && !event.ctrlKey && !event.metaKey) this.#forms[number - 1]?.requestSubmit();
    });
  }

  setSchema(schema, context) {
    this.#schema = schema;
    find("world").textContent = schema.name || "a world";
    const size = schema.size.map((edge) => Math.round(edge)).join(" × ");
    find("size").textContent = `${size} · ${schema.tick_hz} ticks a second`;
    find("kinds").replaceChildren(
      ...schema.kinds.map((kind, number) => {
        const dot = element("i");
        dot.style.background = `hsl(${hueOf(number)} 75% 62%)`;
        // What the whole world shares has a card of its own.
        return element("span", { hidden: schema.world !== null && kind.name === "world" }, dot, kind.name);
      }),
    );
    this.#resting = [];
    this.#forms = schema.commands.map((command, number) => this.#form(command, number, context));
    find("commands").replaceChildren(...this.#forms);
  }

  /** A command as a form: a field for each word. */
  #form(command, number, context) {
    const fields = command.words.map((word) => this.#field(word));
    const key = number < 9 ? element("kbd", {}, String(number + 1)) : "";
    const button = element("button", { type: "submit", title: `give ${command.name}` }, command.name, key);
    const form = element("form", { className: "command" }, button, ...fields.map((field) => field.label));
    form.dataset.command = command.name;
    if (command.cooldown > 0) this.#resting.push({ command, button });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { selected, place } = context();
      const words = fields.map((field, index) => {
        const axis = command.point === null ? -1 : index - command.point;
        return field.value(selected, axis >= 0 && axis < this.#schema.size.length ? place?.[axis] : undefined);
      });
      const missing = words.findIndex((word) => word === null);
      if (missing >= 0) this.log("answer", `${command.name}: choose an entity for ${command.words[missing].name}`);
      else this.#give(command, words);
    });
    return form;
  }

  /** A word's field, and its value in the engine's own numbers. */
  #field(word) {
    const label = (input) => element("label", {}, element("span", {}, word.name), input);
    switch (word.type) {
      case "bool": {
        const input = element("input", { type: "checkbox" });
        return { label: label(input), value: () => Number(input.checked) };
      }
      case "symbol": {
        const options = this.#schema.symbols.map((symbol, index) => element("option", { value: String(index) }, symbol));
        const input = element("select", {}, ...options);
        return { label: label(input), value: () => Number(input.value) };
      }
      case "entity": {
        const input = element("output", { className: "target" }, "the chosen one");
        return { label: label(input), value: (selected) => selected };
      }
      case "fixed": {
        const input = element("input", { type: "number", step: "any", placeholder: "0" });
        const raw = (units) => Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.round(units * ONE)));
        return {
          label: label(input),
          value: (_, coordinate) => raw(input.value === "" ? (coordinate ?? 0) : Number(input.value)),
        };
      }
      default: {
        const input = element("input", { type: "number", step: "1", placeholder: "0" });
        return { label: label(input), value: () => Math.trunc(Number(input.value)) | 0 };
      }
    }
  }

  /** Shades buttons of commands for as long as they rest. `rest` gives a command's ticks. */
  showRests(rest) {
    for (const { command, button } of this.#resting) {
      const ticks = rest(command.number);
      const seconds = (ticks / this.#schema.tick_hz).toFixed(1);
      button.style.setProperty("--rest", Math.min(1, ticks / command.cooldown));
      button.title = ticks > 0 ? `${command.name}: again in ${seconds} s` : `give ${command.name}`;
    }
  }

  /** Marks the buttons of commands that had no effect, for a moment. */
  showRefused(names, reason) {
    for (const form of this.#forms.filter((form) => names.includes(form.dataset.command))) {
      const button = form.querySelector("button");
      button.classList.add("refused");
      button.title = reason;
      clearTimeout(form.refusal);
      form.refusal = setTimeout(() => {
        button.classList.remove("refused");
        button.title = `give ${form.dataset.command}`;
      }, REFUSED_MS);
    }
  }

  /** What the player, the chosen one and the world have. */
  showEntities(own, chosen, shared) {
    find("shared-card").hidden = !shared;
    if (shared) find("shared").replaceChildren(...this.#values(shared.values));
    find("own").replaceChildren(...this.#rows(own));
    find("chosen-card").hidden = !chosen;
    if (chosen) find("chosen").replaceChildren(...this.#rows(chosen));
  }

  #rows(entity) {
    if (!entity) return [element("p", { className: "faint" }, "not in the world")];
    const place = entity.place?.slice(0, this.#schema.size.length).map((at) => at.toFixed(1)).join(", ");
    return this.#values([[entity.kind, `#${entity.slot}`], ["place", place ?? ""], ...entity.values]);
  }

  #values(rows) {
    return rows.map(([name, value]) => {
      const text = value === null ? "none" : typeof value === "number" ? String(Math.round(value * 100) / 100) : String(value);
      return element("div", { className: "row" }, element("span", {}, name), element("b", {}, text));
    });
  }

  showQuality(quality, frames, now) {
    const seconds = (now - this.#bytes.at) / 1000;
    const bytes = quality.received_bytes - this.#bytes.count;
    this.#bytes = { at: now, count: quality.received_bytes, rate: Math.max(0, bytes / seconds) };
    const milliseconds = (time) => (time === null ? "–" : `${Math.round(time)} ms`);
    const figures = {
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
    const states = { dead: "you are dead", playing: "in the world", unstable: "unstable", waiting: "not connected" };
    find("state").textContent = states[state];
  }

  /** A sentence over everything, or none. `address` is where players find what it is about. */
  banner(text, action, address) {
    const banner = find("banner");
    banner.hidden = !text;
    find("token-form").hidden = true;
    if (!text) return;
    find("banner-text").textContent = text;
    const link = find("banner-link");
    link.hidden = !address;
    if (address) [link.textContent, link.href] = [address, address];
    const button = find("banner-button");
    button.hidden = !action;
    if (action) [button.textContent, button.onclick] = [action.text, action.act];
  }

  /** Requests the server's token. */
  askToken(act) {
    const form = find("token-form");
    form.hidden = false;
    form.onsubmit = (event) => {
      event.preventDefault();
      form.hidden = true;
      act(find("token").value);
    };
  }

  log(type, text) {
    const log = find("log");
    // An event of each tick, such as a step against the world's edge, is one line.
    const last = log.lastElementChild;
    if (last && last.className === type && last.dataset.text === text && type === "refused") {
      last.dataset.count = Number(last.dataset.count ?? 1) + 1;
      last.lastElementChild.textContent = ` × ${last.dataset.count}`;
      return;
    }
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
    const time = new Date().toTimeString().slice(0, 8);
    const line = element("li", { className: type }, element("time", {}, time), text, element("span"));
    line.dataset.text = text;
    log.append(line);
    while (log.children.length > LOG_LINES) log.firstChild.remove();
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  }
}
