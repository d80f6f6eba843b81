// Sentences over the world: one about the connection, one about its link, one about the player's
// death; and short ones that pass.

import { element, find } from "./elements.js";

/** The first of these that is set is shown. */
const SUBJECTS = ["connection", "link", "death"];
const TOAST_MS = 2600;

/** What a player can do after a loss, by its code. */
const HINTS = {
  bye: "You can join again.",
  refused: "The server does not take this client.",
  full: "A place may become free soon.",
  malformed: "Loading the page again may help.",
  too_slow: "The connection is too slow for this world.",
  resumed: "The world is open in another tab or window.",
  shutdown: "The server may come back soon.",
  removed: "You can join again as a new player.",
  replaced: "To play here, join again: the other place is disconnected then.",
  kicked: "You can join again, as long as the operator lets you.",
  starting: "The world is loading.",
  standby: "Another server has the world for now.",
  banned: "You can ask the operator for the reason.",
  unauthorized: "Enter the token that you got from the operator.",
  outdated: "Get the version of the server.",
  schema_mismatch: "Load the page again: the world has another form now.",
  too_often: "Something connects with this account again and again: perhaps another page.",
  timed_out: "Check your network.",
  unreachable: "Check your network, and whether the server runs.",
  untrusted: "Open the page by the name in the server's certificate.",
  name_not_found: "Check the address.",
  other: "You can join again.",
};

export function hintOf(code) {
  return HINTS[code] ?? HINTS.other;
}

export class Banners {
  #said = new Map();

  /** `said` is null, or { text, hint, kind, action: { text, act }, address, askToken }. */
  set(subject, said) {
    if (said) this.#said.set(subject, said);
    else this.#said.delete(subject);
    this.#show();
  }

  /** A sentence for a moment. */
  toast(text) {
    const toast = element("p", { className: "toast" }, text);
    for (const other of [...find("toasts").children]) if (other.textContent === text) other.remove();
    find("toasts").append(toast);
    while (find("toasts").children.length > 2) find("toasts").firstChild.remove();
    setTimeout(() => toast.remove(), TOAST_MS);
  }

  #show() {
    const subject = SUBJECTS.find((one) => this.#said.has(one));
    const said = this.#said.get(subject);
    const banner = find("banner");
    banner.hidden = !said;
    if (!said) return;
    const { text, hint, action, address, askToken, kind } = said;
    banner.dataset.kind = kind ?? subject;
    find("banner-text").textContent = text;
    find("banner-hint").textContent = hint ?? "";
    find("banner-hint").hidden = !hint;
    const link = find("banner-link");
    link.hidden = !address;
    if (address) [link.textContent, link.href] = [address, address];
    const button = find("banner-button");
    button.hidden = !action;
    if (action) [button.textContent, button.onclick] = [action.text, action.act];
    const form = find("token-form");
    form.hidden = !askToken;
    form.onsubmit = (event) => {
      event.preventDefault();
      askToken(find("token").value);
    };
  }
}
