// The last hour as charts, by uPlot.

/// Each chart: its title, and its series: [name, label, colour].
const CHARTS = [
  ["Tick, ms", "milliseconds", [["tick_p50", "median", 0], ["tick_p99", "99 %", 1], ["tick_max", "longest", 2]]],
  ["Stages, ms a tick", "milliseconds", [
    ["stage_upload", "upload", 0], ["stage_due", "due", 1], ["stage_logic", "logic", 2], ["stage_merge", "merge", 3],
    ["stage_lifecycle", "lifecycle", 4], ["stage_index", "index", 5], ["stage_interest", "interest", 6], ["stage_download", "download", 7],
  ]],
  // Only where there are some.
  ["GPUs, busy ms a tick", "milliseconds", Array.from({ length: 16 }, (_, gpu) => [`gpu_${gpu}`, `GPU ${gpu}`, gpu % 8])],
  ["Tick thread, ms a tick", "milliseconds", [
    ["step_gather", "gather", 0], ["step_order", "order", 1], ["step_backend", "backend", 2], ["step_record", "record", 3],
    ["step_listen", "listen", 4], ["step_apply", "apply", 5], ["step_publish", "publish", 6], ["fan_out_wait", "wait", 7],
  ]],
  ["Age at clients, ms", "milliseconds", [["age_p50", "median", 0], ["age_p99", "99 %", 1]]],
  ["Clients", "number", [["clients", "clients", 0], ["clients_behind", "behind", 1]]],
  ["Entities", "number", [["entities", "entities", 0], ["timed_commands", "timed commands", 1]]],
  ["Bytes a second", "bytes", [["bytes_out", "out", 0], ["bytes_in", "in", 1]]],
  ["Overload, a second", "number", [
    ["ticks_late", "late ticks", 0], ["ticks_skipped", "skipped", 1], ["clients_put_off", "deferred", 2],
    ["news_put_off", "thinned", 3], ["clients_out_of_touch", "out of touch", 4], ["socket_drops", "socket drops", 5],
  ]],
];
const COLOURS = ["#7aa2ff", "#ffd166", "#ff6b6b", "#4ade80", "#c792ea", "#5ad1e6", "#ff9f68", "#a3b18a"];
const HOUR = 3600;
/// The shortest time that is shown: of a server that has begun, all that there is.
const SHORTEST = 10;

/// The samples of the last hour, and their charts.
export class Charts {
  constructor(place, series) {
    this.places = new Map(series.map((one, place) => [one.name, place]));
    this.times = [];
    this.values = series.map(() => []);
    this.seconds = 300;
    this.charts = CHARTS.map(([title, unit, lines]) => {
      const card = document.createElement("div");
      card.className = "card";
      const heading = document.createElement("h2");
      heading.textContent = title;
      card.append(heading);
      place.append(card);
      if (lines[0][0] === "gpu_0") {
        card.classList.add("gpus");
        card.hidden = true;
      }
      const places = lines.map(([name]) => this.places.get(name));
      const chart = new uPlot(options(card, unit, lines), [[], ...lines.map(() => [])], card);
      new ResizeObserver(() => chart.setSize(sizeOf(card))).observe(card);
      return { card, chart, places };
    });
  }

  /// Adds new samples.
  add(samples) {
    for (const { at, values } of samples) {
      this.times.push(at / 1000);
      values.forEach((value, place) => this.values[place].push(value));
    }
    const old = this.times.length - HOUR;
    if (old > 0) {
      this.times.splice(0, old);
      this.values.forEach((values) => values.splice(0, old));
    }
  }

  draw() {
    const end = this.times.at(-1) ?? Date.now() / 1000;
    const from = this.times.findIndex((time) => time > end - this.seconds);
    const times = this.times.slice(from);
    const start = Math.max(end - this.seconds, Math.min(times[0] ?? end, end - SHORTEST));
    for (const { card, chart, places } of this.charts) {
      const lines = places.map((place) => this.values[place].slice(from));
      if (card.hidden) {
        if (topOf(lines) === 1) continue;
        card.hidden = false;
        lines.forEach((line, at) => chart.setSeries(at + 1, { show: line.some((value) => value > 0) }));
      }
      chart.setData([times, ...lines], false);
      chart.batch(() => {
        chart.setScale("x", { min: start, max: end });
        chart.setScale("y", { min: 0, max: topOf(lines) });
        // Without a cursor, the legend has the newest values.
        if (chart.cursor.idx == null && times.length > 0) chart.setLegend({ idx: times.length - 1 });
      });
    }
  }

  /// The newest value of a series.
  newest(name) {
    return this.values[this.places.get(name)].at(-1);
  }

  /// The mean of the last seconds.
  mean(name, seconds) {
    const last = this.values[this.places.get(name)].slice(-seconds);
    return last.reduce((sum, value) => sum + value, 0) / Math.max(last.length, 1);
  }
}

function topOf(lines) {
  const most = lines.reduce((most, line) => line.reduce((a, b) => Math.max(a, b), most), 0);
  return most > 0 ? most * 1.1 : 1;
}

function sizeOf(card) {
  return { width: Math.max(card.clientWidth - 24, 120), height: 150 };
}

function options(card, unit, lines) {
  const grid = { stroke: "rgba(130, 160, 235, 0.12)", width: 1 };
  const axis = { stroke: "#8b9bc4", grid, ticks: grid, font: "11px system-ui" };
  const text = (value) => (value == null ? "–" : format(value, unit));
  return {
    ...sizeOf(card),
    cursor: { drag: { setScale: false }, sync: { key: "time" }, points: { size: 5 } },
    legend: { live: true },
    padding: [8, 4, 0, 0],
    axes: [{ ...axis, size: 26, space: 86, values: (_, ticks) => ticks.map(clock) }, { ...axis, size: 46, values: (_, ticks) => ticks.map(text) }],
    scales: { x: { time: true } },
    series: [
      { value: (_, time) => clock(time) },
      ...lines.map(([, label, colour]) => ({
        label, stroke: COLOURS[colour], width: 1.4, points: { show: false },  value: (_, value) => text(value),
      })),
    ],
  };
}

function clock(time) {
  return time == null ? "–" : new Date(time * 1000).toLocaleTimeString();
}

/// A number for people.
export function format(value, unit) {
  if (unit === "bytes" || Math.abs(value) >= 10000) {
    const names = ["", "k", "M", "G"];
    let step = 0;
    while (Math.abs(value) >= 1000 && step < 3) {
      value /= 1000;
      step += 1;
    }
    return `${short(value)}${names[step]}`;
  }
  return short(value);
}

function short(value) {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
