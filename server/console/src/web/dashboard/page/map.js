// The world from above: as density, and one area entity by entity.

import { looksOf, paintFigure } from "/dashboard/look.js";

const PICK_PIXELS = 12;
/// More entities are dots.
const FIGURES_MAX = 300;
/// Half the edge of a figure in the area.
const FIGURE = 11;
const ICON = 32;

/// The figure of a kind, small.
export function iconOf(look) {
  const icon = document.createElement("canvas");
  icon.className = "kind";
  icon.width = icon.height = ICON;
  if (!look) return icon;
  const context = icon.getContext("2d");
  context.translate(ICON / 2, ICON / 2);
  context.scale(ICON / 2.3, ICON / 2.3);
  paintFigure(context, look);
  return icon;
}

export class WorldMap {
  /// `inspect` is called with the slot of a clicked entity.
  constructor(world, inspect) {
    this.world = world;
    this.looks = looksOf(world.kinds);
    this.counts = this.listKinds();
    this.canvas = document.getElementById("density");
    this.areaCanvas = document.getElementById("area");
    this.edge = document.getElementById("edge");
    const [width, height] = world.size;
    this.centre = [width / 2, height / 2];
    this.edge.value = Math.min(Math.max(world.aoi * 4, 1), Math.max(width, height));
    this.canvas.addEventListener("click", (event) => {
      const [x, y] = placeIn(this.canvas, event);
      this.centre = [x * width, (1 - y) * height];
    });
    this.areaCanvas.addEventListener("click", (event) => this.pick(event, inspect));
    this.chosen = null;
    this.sights = [];
  }

  /// What to ask the server for.
  area() {
    const edge = Number(this.edge.value) || 1;
    return { x: this.centre[0], y: this.centre[1], edge };
  }

  /// Draws an answer of the server.
  draw({ density, area, crowd }) {
    this.drawDensity(density, area);
    const entities = density.kinds.reduce((sum, count) => sum + count, 0);
    const facts = `${entities} of ${this.world.capacity} entities, tick ${density.tick}`;
    document.getElementById("map-facts").textContent = facts;
    for (const [kind, count] of this.counts) count.data = `${this.world.kinds[kind]} ${density.kinds[kind] ?? 0}`;
    if (area && crowd) this.drawArea(area, crowd);
  }

  /// Lists the kinds, and gives the text of each.
  listKinds() {
    const shared = this.world.shared?.kind;
    const kinds = [...this.world.kinds.keys()].filter((kind) => kind !== shared);
    const counts = new Map(kinds.map((kind) => [kind, document.createTextNode("")]));
    document.getElementById("kinds").replaceChildren(...kinds.map((kind) => {
      const row = document.createElement("span");
      row.append(iconOf(this.looks[kind]), counts.get(kind));
      return row;
    }));
    return counts;
  }

  drawDensity({ columns, rows, cells }, area) {
    const { canvas } = this;
    const scale = Math.max(Math.floor(640 / Math.max(columns, rows, 1)), 1);
    canvas.width = columns * scale;
    canvas.height = rows * scale;
    const context = canvas.getContext("2d");
    // A few are few, wherever there are no more.
    const most = cells.reduce((a, b) => Math.max(a, b), 10);
    cells.forEach((count, place) => {
      if (count === 0) return;
      const [column, row] = [place % columns, Math.floor(place / columns)];
      context.fillStyle = heat(Math.log1p(count) / Math.log1p(most));
      // North is up.
      context.fillRect(column * scale, (rows - 1 - row) * scale, scale, scale);
    });
    if (!area) return;
    const [width, height] = this.world.size;
    const [x, y, edge] = area;
    context.strokeStyle = "#ffffff";
    context.lineWidth = 2;
    context.strokeRect(
      ((x - edge / 2) / width) * canvas.width, (1 - (y + edge / 2) / height) * canvas.height,
      (edge / width) * canvas.width, (edge / height) * canvas.height,
    );
  }

  drawArea(area, crowd) {
    const canvas = this.areaCanvas;
    canvas.width = canvas.height = 640;
    const context = canvas.getContext("2d");
    const [centreX, centreY, edge] = area;
    this.spots = crowd.entities.map(([slot, kind, x, y]) => ({
      slot, kind,
      x: ((x - centreX) / edge + 0.5) * canvas.width,
      y: (0.5 - (y - centreY) / edge) * canvas.height,
    }));
    const areFigures = crowd.entities.length <= FIGURES_MAX;
    const size = areFigures ? FIGURE : 3;
    for (const { slot, kind, x, y } of this.spots) {
      const look = this.looks[kind];
      if (areFigures && look) {
        context.save();
        context.translate(x, y);
        context.scale(FIGURE * look.size, FIGURE * look.size);
        paintFigure(context, look);
        context.restore();
      } else {
        context.fillStyle = look?.colour ?? "#ffffff";
        context.beginPath();
        context.arc(x, y, size, 0, 2 * Math.PI);
        context.fill();
      }
      if (slot === this.chosen) {
        context.strokeStyle = "#ffffff";
        context.lineWidth = 2;
        context.beginPath();
        context.arc(x, y, size + 5, 0, 2 * Math.PI);
        context.stroke();
      }
    }
    this.drawSights(context, area, canvas.width);
    const shown = crowd.entities.length < crowd.total ? `${crowd.entities.length} of ` : "";
    const at = `${centreX.toFixed(0)}, ${centreY.toFixed(0)}`;
    document.getElementById("area-facts").textContent = `${shown}${crowd.total} entities around ${at}`;
  }

  /// How far a client sees, if one is chosen: `sights` are places with a radius.
  drawSights(context, [centreX, centreY, edge], width) {
    context.strokeStyle = "rgba(255, 255, 255, 0.55)";
    context.lineWidth = 1.5;
    for (const [x, y, radius] of this.sights) {
      context.beginPath();
      context.arc(((x - centreX) / edge + 0.5) * width, (0.5 - (y - centreY) / edge) * width, (radius / edge) * width, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  pick(event, inspect) {
    const [x, y] = placeIn(this.areaCanvas, event).map((part) => part * this.areaCanvas.width);
    const far = ({ x: a, y: b }) => Math.hypot(a - x, b - y);
    const nearest = (this.spots ?? []).reduce((best, spot) => (!best || far(spot) < far(best) ? spot : best), null);
    if (nearest && far(nearest) <= PICK_PIXELS) inspect(nearest.slot);
  }
}

/// Where a click is, from 0 to 1.
function placeIn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
}

function heat(part) {
  return `hsl(${225 - 185 * part} 90% ${22 + 45 * part}%)`;
}
