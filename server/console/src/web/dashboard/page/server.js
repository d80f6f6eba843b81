// What the server says and does, by HTTP.

/// Draws a number that no other dashboard has.
const viewer = crypto.getRandomValues(new Uint32Array(1))[0];
/// Where the page is: its data are below.
const BASE = location.pathname.replace(/\/+$/, "");
const TOKEN = "myriad-dashboard-token";

let token = sessionStorage.getItem(TOKEN);
const inAddress = new URLSearchParams(location.hash.slice(1)).get("token");
if (inAddress !== null) {
  setToken(inAddress);
  // So that it is not in the history, or in what is copied.
  history.replaceState(null, "", location.pathname);
}

function setToken(text) {
  token = text;
  sessionStorage.setItem(TOKEN, text);
}

/// An answer that is an error: `status`, and a sentence.
class Refused extends Error {
  constructor(status, text) {
    super(text || `the server answers with ${status}`);
    this.status = status;
  }
}

/// What to say of an error.
export function sentence(error) {
  return error instanceof Refused ? error.message : `no answer of the server: ${error.message}`;
}

/// Asks for the token in the page's dialog, and waits for it.
export function askForToken() {
  const dialog = document.getElementById("token-dialog");
  if (!dialog.open) dialog.showModal();
  return new Promise((go) => {
    dialog.addEventListener("close", () => {
      setToken(document.getElementById("token").value);
      go();
    }, { once: true });
  });
}

/// Asks for something; `fields` are in the address.
export function get(path, fields = {}) {
  const query = new URLSearchParams({ viewer, ...fields });
  // A `+` would stay one.
  return ask(`${BASE}/data/${path}?${query.toString().replaceAll("+", "%20")}`, {});
}

/// Does what an operator wants.
export function act(what) {
  return ask(`${BASE}/do?viewer=${viewer}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(what),
  });
}

async function ask(address, options) {
  const headers = { ...options.headers };
  if (token !== null) headers.authorization = `Bearer ${token}`;
  const signal = AbortSignal.timeout(8000);
  const answer = await fetch(address, { ...options, headers, signal, cache: "no-store" });
  if (!answer.ok) throw new Refused(answer.status, await answer.text());
  return answer.json();
}
