// How a world looks: the figures of its kinds, and its ground. A game with a look of its own
// serves another look.js with these functions.

/** Figures by words in the names of kinds, each with its colour. */
const FIGURES = [
  ["person", "#6ea8ff", /player|hero|human|person|guard|soldier|trader|villager|pilot|runner/],
  ["beast", "#ff6b5e", /wol[fv]|whelp|beast|bear|prey|rat|dog|monster|animal|hunter|spider|deer|sheep|cow|cat|bird/],
  ["gem", "#c58cff", /crystal|gem|gold|coin|ore|loot|treasure/],
  ["plant", "#9be870", /herb|plant|tree|bush|flower|berry|crop/],
  ["guardian", "#ffc94d", /warden|boss|giant|dragon|king|queen|ogre/],
  ["banner", "#ff9f58", /banner|flag|team|base|goal|oak|elm/],
  ["orb", "#5ad1e6", /shot|ball|bolt|ember|spark|bullet|arrow|bomb/],
  ["crate", "#cbb894", /cart|crate|box|chest|door|wall|house|tower/],
];
const MORE_COLOURS = ["#ff8fc2", "#e3e36a", "#8df0d0", "#b0b8d0", "#7aa2ff", "#d08a5a"];
/** How large figures are, beside a person. */
const SIZES = { gem: 0.8, plant: 0.75, guardian: 1.7, banner: 1.5, orb: 0.6 };

/** The figure, colour and size of each kind. Kinds whose names say nothing take turns. */
export function looksOf(names) {
  const taken = new Set();
  return names.map((name, number) => {
    const own = FIGURES.find(([, , words]) => words.test(name)) ?? FIGURES[number % FIGURES.length];
    const colours = [own[1], ...MORE_COLOURS, ...FIGURES.map(([, colour]) => colour)];
    const colour = colours.find((one) => !taken.has(one)) ?? own[1];
    taken.add(colour);
    return { figure: own[0], colour, size: SIZES[own[0]] ?? 1 };
  });
}

/** Paints a figure around 0, 0: it reaches from -1 to 1, and stands at 0.9. */
export function paintFigure(context, { figure, colour }, outline = "#10151f") {
  const fill = (style, ...parts) => {
    context.beginPath();
    for (const part of parts) part();
    context.fillStyle = style;
    context.fill();
    context.stroke();
  };
  const disc = (x, y, width, height = width, turn = 0) => () => {
    context.moveTo(x + width * Math.cos(turn), y + width * Math.sin(turn));
    context.ellipse(x, y, width, height, turn, 0, 7);
  };
  const shape = (...points) => () => {
    points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
  };
  context.lineWidth = 0.13;
  context.lineJoin = context.lineCap = "round";
  context.strokeStyle = outline;
  switch (figure) {
    case "person":
      fill(colour, () => {
        context.moveTo(-0.52, 0.86);
        context.bezierCurveTo(-0.6, -0.3, 0.6, -0.3, 0.52, 0.86);
        context.closePath();
      });
      fill("#ffe3c4", disc(0, -0.45, 0.38));
      break;
    case "beast":
      fill(colour, shape([-0.55, 0.2], [-0.6, 0.86], [-0.38, 0.86], [-0.3, 0.4]), shape([0.1, 0.3], [0.2, 0.86], [0.42, 0.86], [0.45, 0.2]));
      fill(colour, shape([-0.6, 0.1], [-0.98, -0.3], [-0.7, -0.22], [-0.45, -0.02]));
      fill(colour, disc(-0.06, 0.12, 0.64, 0.36));
      fill(colour, shape([0.32, -0.25], [0.38, -0.78], [0.6, -0.42], [0.8, -0.78], [0.95, 0.05], [0.55, 0.3]));
      fill(outline, disc(0.68, -0.16, 0.03));
      break;
    case "gem":
      fill(colour, shape([0, -0.9], [0.6, -0.15], [0, 0.88], [-0.6, -0.15]));
      fill("#ffffff66", shape([0, -0.9], [0.22, -0.15], [0, 0.88], [-0.6, -0.15]));
      break;
    case "plant":
      fill(colour, disc(-0.42, 0.3, 0.5, 0.24, 0.6), disc(0.42, 0.3, 0.5, 0.24, -0.6));
      fill(colour, disc(0, -0.05, 0.26, 0.75));
      fill("#fff1a8", disc(0, -0.62, 0.2));
      break;
    case "guardian":
      fill(colour, shape([-0.5, -0.5], [-0.8, -1], [-0.3, -0.72], [0.3, -0.72], [0.8, -1], [0.5, -0.5]));
      fill(colour, shape([-0.55, -0.62], [0.55, -0.62], [0.86, 0], [0.55, 0.9], [-0.55, 0.9], [-0.86, 0]));
      fill("#fff", disc(-0.24, -0.2, 0.12), disc(0.24, -0.2, 0.12));
      break;
    case "banner":
      fill("#a07c4f", shape([-0.5, -1], [-0.26, -1], [-0.26, 0.9], [-0.5, 0.9]));
      fill(colour, shape([-0.28, -0.92], [0.78, -0.8], [0.5, -0.42], [0.78, -0.02], [-0.28, -0.1]));
      break;
    case "orb":
      fill(colour, disc(0, 0, 0.7));
      fill("#ffffffaa", disc(-0.2, -0.22, 0.14));
      break;
    default:
      fill(colour, shape([-0.66, -0.5], [0.66, -0.5], [0.66, 0.86], [-0.66, 0.86]));
      fill("#0003", shape([-0.66, -0.5], [0.66, -0.5], [0.66, -0.16], [-0.66, -0.16]));
  }
}

const GRASS = [46, 78, 60];
const MEADOW = [88, 118, 74];
const EARTH = [122, 108, 78];
const SAND = [205, 186, 138];
const SHALLOW = [62, 128, 140];
const DEEP = [17, 42, 66];
/** Where land and water meet, and its width on either side, in units. */
const FOAMY = [150, 184, 176];
const FOAM = 0.7;
/** Of the image that is painted: of so many pixels each is computed. */
const COARSE = 4;

/** The colour of the world around it, for what is not painted yet. */
export const SEA = `rgb(${DEEP})`;
export const LAND = `rgb(${mix(GRASS, MEADOW, 0.5)})`;

/**
 * Paints a square of the ground of a plane, from its low corner to the high one, on a square canvas.
 * `left` and `top` are in units, and so is `edge`. Equal places look equal in all squares.
 */
export function paintGround(canvas, left, top, edge, land) {
  const context = canvas.getContext("2d", { alpha: false });
  const unit = canvas.width / edge;
  // With a pixel of the neighbours, into which it blends.
  const cells = canvas.width / COARSE + 2;
  const image = context.createImageData(cells, cells);
  for (let i = 0; i < cells * cells; i += 1) {
    const x = left + (((i % cells) - 0.5) * COARSE) / unit;
    const y = top - ((Math.floor(i / cells) - 0.5) * COARSE) / unit;
    const colour = groundAt(x, y, land);
    for (let part = 0; part < 3; part += 1) image.data[4 * i + part] = colour[part];
    image.data[4 * i + 3] = 255;
  }
  const small = document.createElement("canvas");
  small.width = small.height = cells;
  small.getContext("2d").putImageData(image, 0, 0);
  context.drawImage(small, -COARSE, -COARSE, cells * COARSE, cells * COARSE);
  if (unit > 3) paintGrowth(context, unit, left, top, edge, land);
}

/** How far inside of the land a place is, in units: its shore is a little outside of the world. */
function inland(x, y, { low, high }) {
  return Math.min(x - low[0], y - low[1], high[0] - x, high[1] - y) + 1 + 4 * noise(x / 6, y / 6);
}

function groundAt(x, y, land) {
  const shore = inland(x, y, land);
  if (shore < -FOAM) return mix(SHALLOW, DEEP, (-shore - FOAM) / 12);
  if (shore < 0) return mix(FOAMY, SHALLOW, smooth(-shore / FOAM));
  const grain = 0.16 * (noise(3 * x, 3 * y) - 0.5);
  const grass = mix(GRASS, MEADOW, 0.6 * noise(x / 19, y / 19) + 0.4 * noise(x / 5 + 50, y / 5) + grain);
  const dry = mix(grass, EARTH, smooth((noise(x / 31 + 90, y / 31) - 0.58) * 6) * 0.75);
  const soil = mix(mix(SAND, EARTH, 2 * grain + 0.1), dry, smooth((shore - 2.4) / 2));
  return mix(FOAMY, soil, smooth(shore / FOAM));
}

/** Grass, stones and flowers, on what is computed from each place alone. */
function paintGrowth(context, unit, left, top, edge, land) {
  const STEP = 3;
  for (let row = Math.floor((top - edge) / STEP) - 1; row <= top / STEP + 1; row += 1) {
    for (let column = Math.floor(left / STEP) - 1; column <= (left + edge) / STEP + 1; column += 1) {
      const chance = hash(column, row);
      if (chance > 0.42) continue;
      const [x, y] = [(column + hash(column, row + 7e3)) * STEP, (row + hash(column + 7e3, row)) * STEP];
      if (inland(x, y, land) < 6) continue;
      context.save();
      context.translate((x - left) * unit, (top - y) * unit);
      context.scale(unit, unit);
      context.beginPath();
      if (chance < 0.3) {
        context.strokeStyle = chance < 0.15 ? "#27463a99" : "#9cb77888";
        context.lineWidth = 0.16;
        for (const lean of [-0.5, 0, 0.5]) {
          context.moveTo(lean / 2, 0);
          context.quadraticCurveTo(lean / 2, -0.4, lean, -0.8);
        }
        context.stroke();
      } else if (chance < 0.32) {
        context.fillStyle = "#0003";
        context.ellipse(0.08, 0.15, 0.64, 0.36, 0, 0, 7);
        context.fill();
        context.beginPath();
        context.fillStyle = "#8d9490";
        context.ellipse(0, 0, 0.55, 0.38, chance * 9, 0, 7);
        context.fill();
      } else if (chance > 0.39) {
        context.fillStyle = chance < 0.405 ? "#f4e7a1cc" : "#e6b8d8cc";
        for (const [dx, dy] of [[0, 0], [0.6, 0.3], [0.2, -0.6]]) {
          context.moveTo(dx, dy);
          context.arc(dx, dy, 0.16, 0, 7);
        }
        context.fill();
      }
      context.restore();
    }
  }
}

function mix(from, to, share) {
  const part = Math.min(1, Math.max(0, share));
  return [0, 1, 2].map((i) => Math.round(from[i] + (to[i] - from[i]) * part));
}

function smooth(at) {
  const part = Math.min(1, Math.max(0, at));
  return part * part * (3 - 2 * part);
}

/** From 0 to 1, and smooth from place to place. */
function noise(x, y) {
  const [column, row] = [Math.floor(x), Math.floor(y)];
  const [along, up] = [smooth(x - column), smooth(y - row)];
  const low = hash(column, row) * (1 - along) + hash(column + 1, row) * along;
  const high = hash(column, row + 1) * (1 - along) + hash(column + 1, row + 1) * along;
  return low * (1 - up) + high * up;
}

function hash(x, y) {
  let bits = Math.imul(x, 374761393) + Math.imul(y, 668265263);
  bits = Math.imul(bits ^ (bits >>> 13), 1274126177);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}
