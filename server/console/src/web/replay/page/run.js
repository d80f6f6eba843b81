// A command of the tick once more: its text, with the values of each line beside it.

const byId = (id) => document.getElementById(id);
/// Lines of the text around those that ran.
const AROUND = 2;

export function showRun({ command, texts, values, logged, is_over_budget: isOver }, tick) {
  const over = isOver ? ", over its budget, so without effect" : "";
  byId("run-facts").textContent = `${command}, in the tick before position ${tick}${over}`;
  const rows = texts.flatMap(({ file, lines }) => {
    const own = values.filter((value) => value.file === file);
    const first = Math.max(1, Math.min(...own.map((value) => value.line)) - AROUND);
    const last = Math.min(lines.length, Math.max(...own.map((value) => value.line)) + AROUND);
    const shown = lines.slice(first - 1, last).map((text, i) => line([first + i, text, at(own, first + i)]));
    return texts.length > 1 ? [line(["", file, ""]), ...shown] : shown;
  });
  byId("run").replaceChildren(...rows, ...logged.map((text) => line(["log", text, ""])));
  byId("run-card").hidden = false;
}

/// The values of a line of a text.
function at(values, number) {
  const own = values.filter((value) => value.line === number);
  return own.map(({ name, values: given, rounds }) => {
    const more = rounds > given.length ? `, … (${rounds} rounds)` : "";
    return `${name}: ${given.join(", ")}${more}`;
  }).join("\n");
}

function line(cells) {
  const row = document.createElement("tr");
  row.append(...cells.map((text) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    return cell;
  }));
  return row;
}
