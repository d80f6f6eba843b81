// The dashboard: asks the server for what is shown, again and again, while the page is visible.

import { askForToken, get, sentence } from "/dashboard/server.js";
import { Charts, format } from "/dashboard/charts.js";
import { WorldMap } from "/dashboard/map.js";
import { People, attributeRows, row } from "/dashboard/people.js";

const byId = (id) => document.getElementById(id);

/// Overload and what causes it, each with the series that counts it.
const CAUSES = [
  ["late ticks", "ticks_late", "the tick takes longer than its period"],
  ["skipped ticks", "ticks_skipped", "ticks before were late"],
  ["clients deferred", "clients_put_off", "a shard had no time left: more --shards"],
  ["movement deferred", "news_put_off", "clients' byte budgets are spent"],
  ["clients out of touch", "clients_out_of_touch", "nothing is received from them: their network"],
  ["packets dropped at sockets", "socket_drops", "socket buffers are full: see myriad doctor"],
  ["commands over quota", "commands_over_quota", "clients send too many"],
  ["commands dropped", "commands_total_dropped", "beyond commands_per_tick"],
  ["runs over budget", "commands_total_over_budget", "scripts that take too long"],
  ["updates dropped", "updates_dropped_total", "beyond updates_per_tick"],
  ["deliveries dropped", "deliveries_dropped_total", "beyond deliveries_per_tick"],
  ["hearings dropped", "hearings_dropped_total", "beyond client_hearings_per_tick"],
  ["notifications dropped", "notifications_dropped_total", "beyond notifications_per_tick"],
  ["timed commands dropped", "timed_commands_dropped_total", "beyond timed_commands"],
  ["births refused", "births_refused_total", "no free slot: capacity"],
  ["notices left out", "notices_full", "beyond client_notices_per_tick"],
  ["subscriptions lost", "subscriptions_lost", "no room for them"],
  ["ticks not recorded", "ticks_unrecorded", "the disk is full, fails or is slow"],
  ["sessions lost", "sessions_lost", "they ended without a goodbye"],
  ["malformed messages", "messages_malformed", "clients that are broken or hostile"],
  ["connections refused", "connections_refused", "before their hello"],
  ["wrong tokens", "tokens_wrong", "of players"],
];
const MINUTE = 60;
const LOG_LINES = 200;

let bannerEnds = 0;
function say(text) {
  byId("banner").textContent = text;
  byId("banner").hidden = false;
  bannerEnds = performance.now() + 4000;
}

/// Runs a task again and again, each time so long after the last has ended.
async function repeat(wait, task) {
  for (;;) {
    try {
      if (!document.hidden) await task();
      if (performance.now() > bannerEnds) byId("banner").hidden = true;
    } catch (error) {
      say(sentence(error));
      if (error.status === 401) await askForToken();
      await new Promise((go) => setTimeout(go, 2000));
    }
    await new Promise((go) => setTimeout(go, wait));
  }
}

/// Fetches the facts that do not change, and waits for the server.
async function learnWorld() {
  for (;;) {
    try {
      return await get("world");
    } catch (error) {
      say(error.message);
      if (error.status === 401) await askForToken();
      else await new Promise((go) => setTimeout(go, 2000));
    }
  }
}

class Health {
  constructor(charts) {
    this.charts = charts;
    this.since = 0;
  }

  /// Adds the new samples: of a whole hour, in several answers.
  async look() {
    let answer;
    do {
      answer = await get("health", { since: this.since });
      // A number beyond the server's is of one before it.
      if (this.since > answer.next) {
        this.since = 0;
        continue;
      }
      this.charts.add(answer.samples);
      this.since = answer.first + answer.samples.length;
    } while (this.since < answer.next);
    this.draw(answer);
  }

  draw({ commands, refused, dashboards }) {
    this.charts.draw();
    const newest = (name) => this.charts.newest(name);
    if (newest("clients") === undefined) return;
    const facts = [
      ["clients", format(newest("clients"), "number")], ["entities", format(newest("entities"), "number")],
      ["ticks a second", format(newest("ticks"), "number")], ["tick, 99 %", `${format(newest("tick_p99"), "milliseconds")} ms`],
      ["age at clients, 99 %", `${format(newest("age_p99"), "milliseconds")} ms`], ["out", `${format(newest("bytes_out"), "bytes")}B/s`],
      ["in", `${format(newest("bytes_in"), "bytes")}B/s`], ["dashboards", dashboards],
    ];
    byId("now").replaceChildren(...facts.map(([name, value]) => {
      const fact = document.createElement("div");
      fact.append(Object.assign(document.createElement("dt"), { textContent: name }));
      fact.append(Object.assign(document.createElement("dd"), { textContent: value }));
      return fact;
    }));
    const causes = CAUSES.map(([text, series, why]) => [text, this.charts.mean(series, MINUTE), why]);
    causes.sort((a, b) => b[1] - a[1]);
    const found = causes.filter(([, rate]) => rate > 0);
    const lines = found.map(([text, rate, why]) => row([text, format(rate, "number"), why]));
    byId("causes").replaceChildren(...(lines.length > 0 ? lines : [row(["none"])]));
    byId("commands").replaceChildren(...commands.map((one) => row([
      one.name, format(one.per_second, "number"), `${(100 * one.share).toFixed(1)} %`,
      one.instructions ?? "–", one.updates_max ?? "–", one.over_budget, one.out_of_range,
    ])));
    byId("refused").replaceChildren(...refused.map(([why, count]) => row([why, count])));
  }
}

/// What scripts log, the newest line first.
class ScriptLog {
  since = 0;

  async look() {
    const { first, lines } = await get("log", { since: this.since });
    const log = byId("log");
    // Of a server that has begun anew.
    if (first < this.since) log.replaceChildren();
    this.since = first + lines.length;
    for (const { tick, command, entity, text } of lines) {
      log.prepend(row([tick, command, entity ?? "–", text], entity === null ? {} : { slot: entity }));
    }
    while (log.children.length > LOG_LINES) log.lastChild.remove();
    if (lines.length > 0) byId("log-card").hidden = false;
  }
}

/// What the whole world shares.
async function showShared() {
  const entity = await get("entity", { slot: world.shared.slot });
  const own = new Set(["x", "y", "z"]);
  const attributes = entity.attributes.filter(({ name }) => !own.has(name));
  byId("shared").replaceChildren(...attributeRows({ attributes }));
}

const world = await learnWorld();
document.title = `${world.name}: dashboard`;
byId("world").textContent = world.name;
byId("facts").textContent = `Myriad ${world.version}, ${world.backend}, ${world.tick_hz} Hz, ${world.shards} shards, `
  + `${world.size.map((size) => size.toFixed(0)).join(" × ")} units, at most ${world.clients_max} clients`;
const charts = new Charts(byId("charts"), world.series);
const health = new Health(charts);
let people;
const map = new WorldMap(world, (slot) => people.inspect({ slot }));
people = new People(world, map, say);
for (const button of byId("spans").children) {
  const show = () => {
    charts.seconds = Number(button.dataset.seconds);
    for (const other of byId("spans").children) other.classList.toggle("on", other === button);
    charts.draw();
  };
  button.addEventListener("click", show);
  if (button.dataset.seconds === "300") show();
}
// For those who look from the console.
globalThis.dashboard = { world, charts, health, map, people };

const log = new ScriptLog();
repeat(1000, () => health.look());
repeat(1000, () => log.look());
if (world.shared) {
  byId("shared-card").hidden = false;
  repeat(1000, showShared);
}
repeat(500, async () => map.draw(await get("map", map.area())));
repeat(2000, () => people.list());
repeat(1000, () => people.look());
