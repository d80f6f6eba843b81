// The bar of commands: a button for each, with its fields behind a second one.

import { ONE } from "./game.js";
import { element, find } from "./elements.js";

const REFUSED_MS = 1500;

export class Commands {
  #give;
  #say;
  #schema = null;
  #forms = [];
  #resting = [];

  /** `give` is called with a command of the schema and its words; `say` with why it can't be. */
  constructor(give, say) {
    [this.#give, this.#say] = [give, say];
    addEventListener("keydown", (event) => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.key === "Escape") this.#open(null);
      const number = Number(event.key);
      if (!isTyping && number >= 1 && !event.ctrlKey && !event.metaKey) this.#forms[number - 1]?.requestSubmit();
    });
  }

  /** Shows these commands. `context` gives what fields stand for. */
  set(schema, commands, context) {
    this.#schema = schema;
    this.#resting = [];
    this.#forms = commands.map((command, number) => this.#form(command, number, context));
    find("commands").replaceChildren(...this.#forms);
  }

  /** A command as a form: a field for each word. */
  #form(command, number, context) {
    const entities = command.words.filter((word) => word.type === "entity");
    const fields = command.words.map((word) => this.#field(word, entities));
    const key = number < 9 ? element("kbd", {}, String(number + 1)) : "";
    const aim = entities.length ? element("span", { className: "aim", title: "for the chosen entity" }, "◎") : "";
    const button = element("button", { type: "submit", title: `give ${command.name}` }, aim, command.name, key);
    const form = element("form", { className: "command" }, button);
    const labels = fields.map((field) => field.label).filter(Boolean);
    if (labels.length > 0) {
      const more = element("button", { type: "button", className: "more", title: `fields of ${command.name}` }, "⋯");
      more.setAttribute("aria-label", more.title);
      more.addEventListener("click", () => this.#open(form.classList.contains("open") ? null : form));
      const give = element("button", { type: "submit" }, `give ${command.name}`);
      form.append(more, element("div", { className: "fields card" }, ...labels, give));
    }
    form.dataset.command = command.name;
    if (command.cooldown > 0) this.#resting.push({ command, button });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#open(null);
      const { chosen, place } = context();
      const words = fields.map((field, index) => {
        const axis = command.point === null ? -1 : index - command.point;
        return field.value(chosen, axis >= 0 && axis < this.#schema.size.length ? place?.[axis] : undefined);
      });
      const missing = words.findIndex((word) => word === null);
      if (missing >= 0) this.#say(`${command.name}: choose an entity for ${command.words[missing].name}`);
      else this.#give(command, words);
    });
    return form;
  }

  /** Shows the fields of one command, or of none. */
  #open(form) {
    for (const other of this.#forms) other.classList.toggle("open", other === form);
    if (form) {
      // Above its button, as far as the bar reaches.
      const fields = form.querySelector(".fields");
      const middle = form.offsetLeft + form.offsetWidth / 2 - fields.offsetWidth / 2;
      fields.style.left = `${Math.max(0, Math.min(middle, form.parentElement.clientWidth - fields.offsetWidth))}px`;
    }
    form?.querySelector(".fields input, .fields select")?.focus();
  }

  /**
   * A word's field, and its value in the engine's own numbers. An entity has none: it is chosen. One
   * that stands alone is the last that was chosen, a thing; of several, that comes behind its holder.
   */
  #field(word, entities) {
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
      case "text": {
        const input = element("input", { type: "text", maxLength: 255 });
        return { label: label(input), value: () => input.value };
      }
      case "entity":
        return {
          label: null,
          value: (chosen) => (entities.length > 1 ? chosen[entities.indexOf(word)] : null) ?? chosen.at(-1) ?? null,
        };
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
}
