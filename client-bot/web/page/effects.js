// What happens to figures: numbers that rise from them, what they say, and texts as pictures.

const NUMBER_MS = 1100;
const SPEECH_MS = 5000;
/** Changes of the same figure so soon after another are one number. */
const SAME_MS = 350;
const TEXTS_MAX = 400;

export class Effects {
  #numbers = [];
  #speech = new Map();
  #texts = new Map();

  /** A figure has gained or lost so much. */
  number(slot, amount, now) {
    const same = this.#numbers.find((one) => one.slot === slot && now - one.now < SAME_MS && one.amount > 0 === amount > 0);
    if (same) same.amount += amount;
    else this.#numbers.push({ slot, amount, now });
  }

  say(slot, text, now) {
    this.#speech.set(slot, { text: text.length > 60 ? `${text.slice(0, 59)}…` : text, now });
  }

  /** `placeOf` gives where a figure stands and how high it is, in pixels; undefined: not shown. */
  draw(context, placeOf, ratio, now) {
    this.#numbers = this.#numbers.filter((one) => now - one.now < NUMBER_MS);
    for (const one of this.#numbers) {
      const place = placeOf(one.slot) ?? one.place;
      if (!place) continue;
      // A figure that is gone leaves its last number.
      one.place = { x: place.x, y: place.y, radius: place.radius };
      const age = (now - one.now) / NUMBER_MS;
      const amount = Math.round(one.amount * 10) / 10;
      if (amount === 0) continue;
      context.globalAlpha = 1 - age ** 3;
      // Beside the name, losses on the left and gains on the right.
      const side = Math.sign(amount) * (24 + 8 * age) * ratio;
      this.text(context, amount > 0 ? `+${amount}` : `−${-amount}`, place.x + side, place.y - place.radius * 1.7 - 34 * ratio * age, 15 * ratio, amount > 0 ? "#8dff9a" : "#ff8a7a");
    }
    context.globalAlpha = 1;
    for (const [slot, { text, now: since }] of this.#speech) {
      const place = placeOf(slot);
      if (now - since > SPEECH_MS) this.#speech.delete(slot);
      else if (place) this.text(context, text, place.x, place.y - place.radius * 1.2 - 38 * ratio, 13 * ratio, "#ffffff", "#0b1322cc");
    }
  }

  /** A text with an outline, centred. It is drawn once, and then a picture. */
  text(context, text, x, y, size, colour, back) {
    const key = `${size} ${colour} ${text}`;
    let picture = this.#texts.get(key);
    if (!picture) {
      if (this.#texts.size > TEXTS_MAX) this.#texts.clear();
      picture = pictureOf(text, size, colour, back);
      this.#texts.set(key, picture);
    }
    context.drawImage(picture, Math.round(x - picture.width / 2), Math.round(y - picture.height / 2));
  }
}

function pictureOf(text, size, colour, back) {
  const picture = document.createElement("canvas");
  const font = `650 ${size}px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
  let context = picture.getContext("2d");
  context.font = font;
  picture.width = Math.ceil(context.measureText(text).width + size);
  picture.height = Math.ceil(size * 1.6);
  context = picture.getContext("2d");
  if (back) {
    context.fillStyle = back;
    context.beginPath();
    context.roundRect(0, 0, picture.width, picture.height, size / 2);
    context.fill();
  }
  context.font = font;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = size / 4;
  context.strokeStyle = "#0a101acc";
  const [x, y] = [picture.width / 2, picture.height / 2];
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
  return picture;
}
