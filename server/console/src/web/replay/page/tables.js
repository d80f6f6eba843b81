// What a tick changed, as tables.

import { row, thingRows } from "/dashboard/people.js";

const byId = (id) => document.getElementById(id);

export function text(value) {
  if (value === null) return "none";
  if (typeof value === "object") return `entity ${value.slot}`;
  return typeof value === "number" ? String(Number(value.toFixed(3))) : String(value);
}

export function showEntity(entity, slot) {
  byId("inspected-title").textContent = entity ? `${entity.name ? `${entity.name}: entity` : "Entity"} ${slot}.${entity.generation}, ${entity.kind}` : "Inspect";
  byId("inspected").classList.toggle("faint", !entity);
  if (!entity) {
    byId("inspected").textContent = slot === null ? "Click an entity." : `No entity lives in slot ${slot} at this tick.`;
    return;
  }
  const [table, body] = [document.createElement("table"), document.createElement("tbody")];
  body.append(...entity.attributes.map(({ name, value, audience }) => {
    const data = value?.slot !== undefined ? { slot: value.slot } : {};
    return row([name, text(value), audience], data);
  }), ...thingRows(entity));
  table.append(body);
  byId("inspected").replaceChildren(table);
}

export function showChanges(shown, chosen) {
  const { changes, changes_total: total, commands, commands_total: given } = shown;
  const listed = changes.length < total ? `, ${changes.length} are listed` : "";
  byId("changes-facts").textContent = `${total} by ${given} commands${listed}`;
  byId("changes").replaceChildren(...changes.map((change) => {
    const line = row([change.slot, change.attribute, text(change.old), text(change.new), change.causes.length > 0 ? "" : "the engine"], { slot: change.slot });
    const causes = change.causes.map(([place, value]) => {
      const button = document.createElement("button");
      button.className = "cause";
      button.type = "button";
      button.dataset.command = commands[place].number;
      button.title = "Run it again";
      button.textContent = cause(commands[place], value, change.causes.length > 1);
      return button;
    });
    line.lastChild.append(...causes);
    line.classList.toggle("chosen", change.slot === chosen);
    return line;
  }));
}

/// A command in words; with the value that it wanted if there were several.
function cause({ name, entity, player, words }, value, isOneOfMany) {
  const who = entity ? ` of ${player ?? entity[0]}` : "";
  const list = words.map(([word, of]) => `${word} ${text(of)}`).join(", ");
  return `${name}${who}${list ? ` (${list})` : ""}${isOneOfMany ? `: ${text(value)}` : ""}`;
}

export function showLives({ births, births_total: born, deaths, deaths_total: died, notifications }, kinds) {
  byId("lives-facts").textContent = `${born} born, ${died} died, ${notifications} notifications`;
  byId("lives").replaceChildren(
    ...births.map(([slot, generation, kind]) => row([`${slot}.${generation}`, kinds[kind], "born"], { slot })),
    ...deaths.map(([slot, generation]) => row([`${slot}.${generation}`, "", "died"], { slot })),
  );
}

/// The clients to choose from; the choice stays, also where the client is not there.
export function showClients(clients, chosen) {
  const select = byId("client");
  if (document.activeElement === select) return;
  const rows = clients.map(([client, slot, name]) => [String(client), `${name ? `${name}, ` : ""}client ${client}${slot === null ? "" : `, entity ${slot}`}`]);
  if (chosen !== null && !clients.some(([client]) => client === chosen)) rows.push([String(chosen), `client ${chosen}, not there`]);
  const key = JSON.stringify(rows);
  if (key === select.dataset.shown) return;
  select.dataset.shown = key;
  select.replaceChildren(new Option("all of the world", ""), ...rows.map(([value, label]) => new Option(label, value)));
  select.value = chosen === null ? "" : String(chosen);
}
