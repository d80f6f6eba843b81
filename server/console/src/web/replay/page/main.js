// The replay: asks for the tick that is to be shown, and draws it.

import { askForToken, get, sentence } from "/dashboard/server.js";
import { WorldMap } from "/dashboard/map.js";
import { Timeline } from "/replay/timeline.js";
import { showRun } from "/replay/run.js";
import { showChanges, showClients, showEntity, showLives } from "/replay/tables.js";

const byId = (id) => document.getElementById(id);
const wait = (ms) => new Promise((go) => setTimeout(go, ms));
/// A little longer than the server lets a page ask.
const ASK_MS = 60;
/// What is known of the recording is looked at so often, if nothing else changes.
const IDLE_MS = 1000;

function say(text) {
  byId("banner").textContent = text;
  byId("banner").hidden = text === "";
}

async function learn(task) {
  for (;;) {
    try {
      const answer = await task();
      say("");
      return answer;
    } catch (error) {
      say(sentence(error));
      if (error.status === 401) await askForToken();
      else await wait(1000);
    }
  }
}

const world = await learn(() => get("world"));
document.title = `${world.recording}: replay`;
byId("world").textContent = world.recording;
byId("facts").textContent = `world ${world.name}, ${world.tick_hz} Hz, ${world.size.map((size) => size.toFixed(0)).join(" × ")} units, Myriad ${world.version}`;

const replay = { world, slot: null, client: null, shown: null };
replay.timeline = new Timeline(world);
replay.inspect = (slot) => { replay.slot = replay.map.chosen = slot; };
replay.map = new WorldMap(world, replay.inspect);
for (const id of ["inspected", "changes", "lives"]) {
  byId(id).addEventListener("click", (event) => {
    const line = event.target.closest("[data-slot]");
    if (line) replay.inspect(Number(line.dataset.slot));
  });
}
byId("changes").addEventListener("click", async (event) => {
  const button = event.target.closest("[data-command]");
  if (!button || !replay.shown) return;
  replay.timeline.play(false);
  const { tick } = replay.shown;
  try {
    showRun(await get("run", { tick, command: button.dataset.command }), tick);
  } catch (error) {
    say(sentence(error));
  }
});
byId("run-close").addEventListener("click", () => { byId("run-card").hidden = true; });
byId("client").addEventListener("change", () => {
  replay.client = byId("client").value === "" ? null : Number(byId("client").value);
  replay.follows = replay.client !== null;
  byId("client").blur();
});
// For those who look from the console.
globalThis.replay = replay;

/// What to ask for now.
function wanted() {
  const fields = { tick: replay.timeline.now(), ...replay.map.area() };
  if (replay.slot !== null) fields.slot = replay.slot;
  if (replay.client !== null) fields.client = replay.client;
  return fields;
}

function draw(shown) {
  replay.shown = shown;
  replay.timeline.take(shown.progress);
  const { view } = shown;
  replay.map.sights = view?.sights ?? [];
  replay.map.draw(shown);
  showClients(shown.clients, replay.client);
  showEntity(shown.entity, replay.slot);
  showChanges(shown, replay.slot);
  showLives(shown, world.kinds);
  byId("view").textContent = view ? `Client ${view.client} knew ${view.entities} entities; the circle is its sight.`
    : "All entities are shown. Choose a client to see only its known set.";
  if (view && replay.follows && view.sights.length > 0) {
    // Its surroundings, once.
    replay.follows = false;
    const [x, y, radius] = view.sights[0];
    replay.map.centre = [x, y];
    byId("edge").value = (radius * 2.4).toFixed(1);
  }
}

/// Goes to the first tick with an entity in it, unless somebody goes elsewhere meanwhile.
async function openAtFirstEntity() {
  const { timeline } = replay;
  const first = timeline.tick;
  let progress = world.progress;
  const isEmpty = async (tick) => {
    const shown = await get("moment", { tick, ...replay.map.area() });
    await wait(ASK_MS);
    timeline.take(progress = shown.progress);
    return shown.density.kinds.every((count, kind) => count === 0 || kind === world.shared?.kind);
  };
  if (!await isEmpty(first)) return;
  let [empty, found] = [first, null];
  for (let step = 1; found === null; step *= 2) {
    if (timeline.tick !== first || timeline.playing) return;
    const tick = Math.min(empty + step, timeline.last);
    if (!await isEmpty(tick)) found = tick;
    else if (tick === empty && progress.is_done) return;
    else if (tick === empty) await wait(IDLE_MS);
    else empty = tick;
  }
  while (found - empty > 1) {
    const middle = Math.floor((empty + found) / 2);
    if (await isEmpty(middle)) empty = middle;
    else found = middle;
  }
  if (timeline.tick === first && !timeline.playing) timeline.set(found);
}

try {
  await openAtFirstEntity();
} catch (error) {
  say(sentence(error));
}

let asked = "";
let askedAt = 0;
for (;;) {
  const fields = wanted();
  const key = JSON.stringify(fields);
  const isIdle = key === asked && performance.now() - askedAt < IDLE_MS;
  if (!document.hidden && !isIdle) {
    try {
      askedAt = performance.now();
      draw(await get("moment", fields));
      asked = key;
      say("");
    } catch (error) {
      say(sentence(error));
      replay.timeline.play(false);
      if (error.status === 401) await askForToken();
      else await wait(500);
    }
  }
  await wait(ASK_MS);
}
