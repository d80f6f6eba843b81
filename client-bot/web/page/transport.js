// The page's connection, whose events go to the game: over WebTransport where the browser has it and
// the network carries it, else over WebSocket.

import { openWebSocket } from "./websocket.js";
import { fetchParameters, openWebTransport } from "./webtransport.js";

/** The ways to connect, the better one first. */
const WAYS = {
  webtransport: { name: "WebTransport", open: openWebTransport, isThere: () => typeof WebTransport !== "undefined" },
  websocket: { name: "WebSocket", open: openWebSocket, isThere: () => typeof WebSocket !== "undefined" },
};
/** How long a way may take before the next one is tried. The game gives up the last one. */
const WAIT_MS = 3000;
/** How often it is seen whether the server has named another one. */
const LEARN_MS = 2000;
/** Where the way that worked is kept for the session of the tab. */
const KEY = "transport";

export class Transport {
  #game;
  #now;
  /** The connection in use; what others still say does not matter. */
  #current = null;
  /** The way that failed last. */
  #failed = null;
  /** By address: the pages of other servers of the world. */
  #pages = new Map();
  /** The address for which they were asked for last, and when that was looked at. */
  #learnt = null;
  #lookedAt = 0;
  /** Bytes in all connections of this page. */
  sent = 0;

  #port;
  #server;
  #forced;

  /**
   * `port` is a UDP port that is used instead of the server's own, if another is forwarded to that.
   * `server` is the address of the server's page, for a page from elsewhere. `forced` is one of
   * "webtransport" and "websocket", if no other may be tried.
   */
  constructor(game, now, port, server = location.href, forced = null) {
    this.#game = game;
    this.#now = now;
    this.#port = port;
    this.#server = server;
    this.#forced = forced;
  }

  /** The names by which a way can be forced. */
  static ways() {
    return Object.keys(WAYS);
  }

  /** The name of the way in use, for people. */
  get way() {
    return this.#current?.link ? WAYS[this.#current.way].name : null;
  }

  /** Opens a connection, as the game has requested. */
  async connect() {
    const own = { link: null, way: null, abort: null, server: this.#server };
    this.#current = own;
    const address = this.#game.address();
    if (address && !this.#pages.has(address)) await this.#learn(address);
    if (this.#current !== own) return;
    own.server = this.#pages.get(address) ?? this.#server;
    const ways = this.#order();
    let reason = "this browser has neither WebTransport nor WebSocket";
    for (const way of ways) {
      own.way = way;
      try {
        const link = await this.#open(own, way, way !== ways.at(-1));
        if (this.#current !== own) return link.close(5, "not needed any more");
        own.link = link;
        this.#failed = null;
        sessionStorage.setItem(KEY, way);
        this.#game.opened();
        return this.flush();
      } catch (error) {
        this.#failed = way;
        if (this.#current !== own) return;
        if (sessionStorage.getItem(KEY) === way) sessionStorage.removeItem(KEY);
        reason = error.message || "cannot connect";
      }
    }
    this.#ended(own, -1, reason);
  }

  /** The ways to try: first the one that worked, last the one that failed. */
  #order() {
    if (this.#forced) return [this.#forced];
    const there = Transport.ways().filter((way) => WAYS[way].isThere());
    const worked = sessionStorage.getItem(KEY);
    const rank = (way) => (way === worked ? -1 : way === this.#failed ? 1 : 0);
    return there.sort((a, b) => rank(a) - rank(b));
  }

  /** Asks the server of the page where the others are. It may be gone, or know none. */
  async #learn(address) {
    this.#learnt = address;
    try {
      const { servers } = await fetchParameters(this.#server, AbortSignal.timeout(WAIT_MS));
      this.#pages = new Map(servers.filter(({ page }) => page).map(({ address, page }) => [address, page]));
    } catch {
      // The page's own server is tried.
    }
  }

  async #open(own, way, isTimed) {
    const abort = new AbortController();
    own.abort = abort;
    // Only the way that is tried now has a say.
    const isIts = () => this.#current === own && own.way === way;
    const taking = (take) => (bytes) => {
      if (!isIts()) return;
      try {
        take(bytes);
      } catch (error) {
        this.#malformed(own, error.message);
      }
    };
    const events = {
      stream: taking((bytes) => this.#game.takeStream(bytes, this.#now())),
      datagram: taking((bytes) => this.#game.takeDatagram(bytes, this.#now())),
      malformed: (reason) => isIts() && this.#malformed(own, reason),
      // Before it is open, the attempt fails.
      ended: (code, reason) => isIts() && own.link && this.#ended(own, code, reason),
    };
    const ended = new Promise((_, reject) => {
      abort.signal.addEventListener("abort", () => reject(abort.signal.reason));
    });
    const late = () => abort.abort(new Error(`no connection within ${WAIT_MS / 1000} seconds`));
    const timer = isTimed && setTimeout(late, WAIT_MS);
    try {
      const options = { server: own.server, port: this.#port, signal: abort.signal };
      return await Promise.race([WAYS[way].open(options, events), ended]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends what the game has to send. */
  flush() {
    const link = this.#current?.link;
    if (!link) {
      // Due data goes nowhere, and is not due again.
      this.#game.giveDatagram(this.#now());
      return;
    }
    if (this.#now() - this.#lookedAt > LEARN_MS) {
      this.#lookedAt = this.#now();
      const address = this.#game.address();
      // Now, as this server may be gone later.
      if (address && address !== this.#learnt) this.#learn(address);
    }
    const bytes = this.#game.giveStream();
    if (bytes) {
      this.sent += bytes.length;
      link.writeStream(bytes);
    }
    const datagram = this.#game.giveDatagram(this.#now());
    if (datagram) {
      this.sent += datagram.length;
      link.writeDatagram(datagram);
    }
    link.flush?.();
  }

  /** Closes the connection; the game expects it. */
  close(code, reason) {
    const own = this.#current;
    this.#current = null;
    if (own?.link) own.link.close(code, reason);
    else own?.abort?.abort(new Error(reason));
  }

  #malformed(own, reason) {
    own.link?.close(3, "malformed");
    this.#ended(own, 3, `cannot read what the server sent: ${reason}`);
  }

  #ended(own, code, reason) {
    if (this.#current !== own) return;
    this.#current = null;
    this.#game.closed(code, reason, this.#now());
  }
}
