// The log over the world: lines about the same are one line that counts.

const LINES_MAX = 100;
/** Lines about the same come together if the last of them is at most so old. */
const SAME_MS = 15_000;
/** A line is shown for so long, where the whole log is not. */
const SHOWN_MS = 9_000;

/** Which lines come together, without the page. */
export class Lines {
  all = [];

  /** Adds a line, or counts one that is there. Gives the line. */
  add(type, text, topic, now) {
    const key = topic ?? text;
    const at = this.all.findIndex((line) => line.type === type && line.key === key && now - line.now <= SAME_MS);
    const known = at >= 0 ? this.all.splice(at, 1)[0] : { type, key, count: 0 };
    const line = Object.assign(known, { text, now, count: known.count + 1 });
    this.all.push(line);
    return line;
  }

  /** Takes out the oldest beyond the most. */
  trim() {
    return this.all.splice(0, Math.max(0, this.all.length - LINES_MAX));
  }
}

/** A line's own words: of several, what they have in common. */
export function wordsOf({ key, text, count }) {
  return count > 1 ? key : text;
}

export class Log {
  #list;
  #lines = new Lines();

  constructor(list) {
    this.#list = list;
  }

  add(type, text, topic) {
    const line = this.#lines.add(type, text, topic, performance.now());
    if (!line.element) {
      line.element = document.createElement("li");
      line.element.className = type;
      line.element.append(document.createElement("time"), document.createTextNode(""), document.createElement("b"));
    }
    const [time, words, count] = line.element.childNodes;
    time.textContent = new Date().toTimeString().slice(0, 8);
    words.data = wordsOf(line);
    count.textContent = line.count > 1 ? ` ×${line.count}` : "";
    line.element.title = text;
    line.element.classList.remove("old");
    clearTimeout(line.timer);
    line.timer = setTimeout(() => line.element.classList.add("old"), SHOWN_MS);
    this.#list.append(line.element);
    for (const old of this.#lines.trim()) old.element.remove();
    this.#list.scrollTop = this.#list.scrollHeight;
  }
}
