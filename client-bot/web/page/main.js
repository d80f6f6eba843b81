// The page: the world around the player, drawn once a frame.

import { Banners, hintOf } from "./banners.js";
import { Commands } from "./commands.js";
import { Scene } from "./draw.js";
import { ONE, bytesOf, load, talkOf } from "./game.js";
import { onPointers } from "./gestures.js";
import { Layers } from "./layers.js";
import { Log } from "./log.js";
import { Minimap } from "./minimap.js";
import { Panel } from "./panel.js";
import { DIRECTIONS, inPlane, stepOfKeys, stepTowards } from "./steps.js";
import { Transport } from "./transport.js";

/** The longest step, in units: worlds clamp each axis of it to what they allow. */
const STEP = 2;
const WALKS = ["move", "walk", "steer"];
const DEATH = { text: "You have died.", hint: "The world decides when you are born again." };
const BARS = ["hp", "health", "life"];

const VIEWER = Math.floor(Math.random() * 2 ** 32);
const now = () => performance.now();
const canvas = document.getElementById("canvas");
const keys = new Set();
const shown = { schema: null, own: null, frames: 0, fps: 0, since: now(), retryAt: null, lost: null, thing: null, walk: null, bar: -1, steered: "" };
const game = await load("game.wasm");
const options = new URLSearchParams(location.hash.slice(1));
const forced = options.get("transport");
const transport = new Transport(game, now, options.get("port"), location.href, forced);
const scene = new Scene(canvas, (slot) => game.entity(slot));
const minimap = new Minimap(document.getElementById("minimap"), go);
const layers = new Layers(game, location.href, (layers) => {
  scene.setLayers(layers);
  minimap.setLayers(layers);
});
const log = new Log(document.getElementById("log"));
const banners = new Banners();
const panel = new Panel(choose);
const commands = new Commands(give, complain);

function begin() {
  const ticket = sessionStorage.getItem("ticket");
  const token = options.get("token") ?? sessionStorage.getItem("token") ?? "";
  game.begin(token, ticket && bytesOf(ticket));
  banners.set("connection", { text: "Connecting …" });
}

/** Walks to a place, or to the edge of the plane before it. */
function go(place) {
  if (scene.land) scene.goal = inPlane(place, scene.land);
}

/** Says what could not be done. */
function complain(text) {
  log.add("answer", text);
  banners.toast(text);
}

/** Chooses a thing; none, if it was chosen. */
function choose(slot) {
  shown.thing = chosenThing()?.slot === slot ? null : game.entity(slot);
}

/** The chosen thing, if the player still sees it. */
function chosenThing() {
  const thing = shown.thing && game.entity(shown.thing.slot);
  return thing?.reference === shown.thing?.reference ? thing : null;
}

/** What commands' fields stand for: the chosen entity and the chosen thing, as far as there are any. */
function context() {
  const chosen = scene.selected === null ? null : game.entity(scene.selected);
  const place = chosen?.place ?? scene.goal ?? shown.own;
  return { chosen: [chosen, chosenThing()].filter(Boolean).map(({ reference }) => reference), place };
}

function give(command, words) {
  try {
    game.command(command.number, words);
    log.add("own", command.name);
  } catch (error) {
    complain(error.message);
  }
}

function talk(line) {
  try {
    const { what, to, text } = talkOf(line);
    game.talk(what, to, text);
  } catch (error) {
    complain(error.message);
  }
}

/** Walks by keys, or straight to where was clicked: once a tick. */
function walk() {
  const { walk, own } = shown;
  if (!walk || !own) return;
  let [x, y] = stepOfKeys(keys, STEP);
  if (x || y) scene.goal = null;
  else if (scene.goal) {
    const { step, isThere } = stepTowards(own, scene.goal, STEP);
    [x, y] = step;
    if (isThere) scene.goal = null;
  }
  const words = [x, y, 0].slice(0, shown.schema.size.length).map((along) => Math.round(along * ONE));
  const isStill = words.every((word) => word === 0);
  // A course is set once; a step is taken in each tick.
  if (walk.name === "steer" ? words.join() === shown.steered : isStill) return;
  shown.steered = words.join();
  game.command(walk.number, words);
}

function takeSchema(isWelcome) {
  const schema = game.schema();
  shown.schema = schema;
  scene.setSchema(schema);
  panel.setSchema(schema, scene.looks);
  minimap.setSchema(schema, scene.looks);
  const isWalk = (c) => c.point === 0 && c.words.length === schema.size.length;
  shown.walk = WALKS.map((name) => schema.commands.find((c) => c.name === name && isWalk(c))).find(Boolean);
  // Keys and clicks walk.
  commands.set(schema, schema.commands.filter((command) => command !== shown.walk), context);
  layers.begin(isWelcome);
  shown.bar = BARS.map((name) => schema.attributes.findIndex((a) => a.name === name)).find((c) => c >= 0) ?? -1;
}

function react(event) {
  switch (event.type) {
    case "welcomed":
    case "resumed": {
      const digits = Array.from(game.ticket(), (byte) => byte.toString(16).padStart(2, "0"));
      sessionStorage.setItem("ticket", digits.join(""));
      takeSchema(true);
      for (const subject of ["connection", "link", "death"]) banners.set(subject, null);
      shown.retryAt = null;
      // The next time, another version is worth another reload.
      sessionStorage.removeItem("reloaded");
      break;
    }
    case "interface":
      takeSchema(false);
      break;
    case "cells": {
      const boxes = layers.edit(event.edits);
      scene.forget(boxes);
      if (boxes.length) minimap.forget();
      return;
    }
    case "link":
      banners.set("link", event.is_good ? null : { text: "The connection is unstable: nothing arrives from the server." });
      break;
    case "died":
      banners.set("death", DEATH);
      break;
    case "reborn":
      banners.set("death", null);
      break;
    case "lost":
      shown.retryAt = event.retry_ms === null ? null : now() + event.retry_ms;
      shown.lost = event;
      if (event.retry_ms === null) giveUp(event);
      break;
    case "refused":
      commands.showRefused(event.commands, event.text);
      // Steps are given by themselves: the log is enough.
      if (event.commands.some((name) => name !== shown.walk?.name)) banners.toast(event.text);
      break;
    case "answer":
      // What was granted is seen by what it does.
      if (event.text === "done") return;
      banners.toast(event.text);
      break;
    case "talk":
      // What comes from everywhere, or nowhere, is in the log alone.
      if (event.slot !== null) scene.say(event.slot, event.text.slice(event.text.indexOf(": ") + 2), now());
      break;
    case "notice":
      if (event.slot !== null) scene.mark(event.slot, now());
      break;
  }
  // However many had no effect for a reason, it is one line.
  const topic = event.type === "refused" ? event.text.replace(/ \(\d+ times\)/g, "") : event.topic;
  log.add(event.type, event.text, topic);
}

/** A loss as a sentence: its words, and the server's reason. */
function sentence({ words, text }) {
  const all = !text || words.includes(text) ? words : text.includes(words) ? text : `${words}: ${text}`;
  return all[0].toUpperCase() + all.slice(1);
}

function giveUp(event) {
  sessionStorage.removeItem("ticket");
  const said = { text: `${sentence(event)}.`, hint: hintOf(event.code), kind: "lost" };
  switch (event.code) {
    case "unauthorized":
      sessionStorage.removeItem("token");
      banners.set("connection", { ...said, askToken: takeToken });
      break;
    case "outdated":
      outdated(event);
      break;
    default:
      banners.set("connection", { ...said, action: { text: "Join again", act: begin } });
  }
}

function takeToken(token) {
  options.delete("token");
  sessionStorage.setItem("token", token);
  begin();
}

/** The server may have a newer page: it is loaded once, then the player gets a message. */
function outdated(event) {
  const version = String(event.server_version);
  if (sessionStorage.getItem("reloaded") !== version) {
    sessionStorage.setItem("reloaded", version);
    banners.set("connection", { text: "The server has another version: loading it …" });
    location.reload();
    return;
  }
  const more = event.server_version === null ? "" : ` The server speaks version ${version}.`;
  const text = `${sentence(event)}.${more}`;
  banners.set("connection", { text, hint: hintOf(event.code), kind: "lost", address: event.update_url });
}

/** Shows what scripts log, with `#log` in the address, to those who may see the dashboard. */
async function followLog(since) {
  const token = sessionStorage.getItem("myriad-dashboard-token");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch(`dashboard/data/log?viewer=${VIEWER}&since=${since}`, { headers });
  if (!answer.ok) return complain(await answer.text());
  const { first, lines } = await answer.json();
  for (const { command, text } of lines) log.add("script", `${command}: ${text}`);
  setTimeout(followLog, 1000, first + lines.length);
}

/** What is due, whether or not the page is seen. */
function work() {
  const time = now();
  const step = game.nextStep(time);
  if (step === "connect") transport.connect();
  if (step === "close") transport.close(5, "nothing was received");
  for (const event of game.poll(time)) react(event);
  layers.poll();
  // Several where a frame took longer than a tick.
  while (game.inputDue(time) >= 0) {
    walk();
    transport.flush();
  }
  transport.flush();
  if (shown.retryAt !== null) {
    const seconds = Math.max(0, (shown.retryAt - time) / 1000);
    const { words } = shown.lost;
    const lost = words[0].toUpperCase() + words.slice(1);
    const text = `${lost}: trying again in ${seconds.toFixed(1)} s`;
    banners.set("connection", seconds > 0 ? { text, hint: hintOf(shown.lost.code) } : { text: "Connecting …" });
  }
}

function frame() {
  work();
  const time = now();
  scene.draw(game.entities(shown.bar), shown.bar, shown.own, time);
  if (scene.own) shown.own = [scene.own.worldX, scene.own.worldY];
  minimap.draw(scene, time);
  commands.showRests((number) => game.rest(number, time));
  showBars();
  shown.frames += 1;
  if (time - shown.since >= 500) {
    shown.fps = Math.round((1000 * shown.frames) / (time - shown.since));
    [shown.frames, shown.since] = [0, time];
    const quality = game.quality();
    panel.showQuality(quality, shown.fps, time, transport.way);
    // Also of a page that comes back to a dead player.
    banners.set("death", quality.is_dead ? DEATH : null);
    const own = quality.own === null ? null : game.entity(quality.own);
    const chosen = scene.selected === null ? null : game.entity(scene.selected);
    if (!chosen) scene.selected = null;
    scene.covered = innerHeight - document.getElementById("commands").getBoundingClientRect().top;
    const world = shown.schema?.world;
    const shared = world == null ? null : game.entity(world);
    panel.showRankings(game.rankings());
    if (shown.schema) panel.showEntities(own, chosen, chosenThing(), shared, shown.schema.attributes[shown.bar]?.name);
  }
  requestAnimationFrame(frame);
}

function showBars() {
  if (!shown.schema) return;
  const range = (figure) => (figure && figure.share >= 0 ? scene.rangeOf(figure.kind, shown.bar) : undefined);
  const chosen = scene.figures().find((figure) => figure.slot === scene.selected);
  panel.showBars(scene.own?.share, range(scene.own), chosen?.share, range(chosen));
}

addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (DIRECTIONS[event.code] && !isTyping && !event.ctrlKey && !event.metaKey) {
    keys.add(event.code);
    event.preventDefault();
  }
});
addEventListener("keyup", (event) => keys.delete(event.code));
addEventListener("blur", () => keys.clear());
onPointers(canvas, {
  zoom: (factor) => scene.zoomBy(factor),
  // What a finger meant is where things were when it came down.
  aim: (x, y) => [scene.entityAt(x, y), scene.placeAt(x, y)],
  act: ([slot, place]) => {
    document.activeElement?.blur();
    if (slot === null) go(place);
    else [scene.selected, shown.thing] = [slot, null];
  },
});
document.getElementById("talk-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = document.getElementById("talk");
  const line = field.value.trim();
  field.value = "";
  if (line) talk(line);
});
document.getElementById("leave").addEventListener("click", () => {
  game.leave();
  transport.close(0, "bye");
  sessionStorage.removeItem("ticket");
  banners.set("connection", { text: "You have left the world.", action: { text: "Join again", act: begin } });
});

// For the console, and for tests.
globalThis.myriad = { game, layers, scene, shown, transport, now, react };

if (options.has("log")) followLog(0);
if (forced === null || Transport.ways().includes(forced)) {
  begin();
  requestAnimationFrame(frame);
  // A page that is not seen draws nothing, but stays connected.
  setInterval(() => document.hidden && work(), 100);
} else {
  banners.set("connection", { text: `#transport=${forced} is unknown: expected ${Transport.ways().join(" or ")}.` });
}
