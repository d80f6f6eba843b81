// The page's connection: WebTransport, whose events go to the game.

import { bytesOf } from "./game.js";

export class Transport {
  #game;
  #now;
  /** The connection in use; what others still say does not matter. */
  #current = null;
  /** Bytes in all connections of this page. */
  sent = 0;

  #port;
  #server;

  /**
   * `port` is used instead of the server's own, if another is forwarded to that. `server` is the
   * address of the server's page, for a page from elsewhere.
   */
  constructor(game, now, port, server = location.href) {
    this.#game = game;
    this.#now = now;
    this.#port = port;
    this.#server = server;
  }

  static isAvailable() {
    return typeof WebTransport !== "undefined";
  }

  /** Opens a connection, as the game has requested. */
  async connect() {
    const own = { transport: null, stream: null, datagrams: null };
    this.#current = own;
    try {
      const answer = await fetch(new URL("connect.json", this.#server), { cache: "no-store" });
      const { port, certificate_hash } = await answer.json();
      if (this.#current !== own) return;
      const options = { congestionControl: "low-latency" };
      if (certificate_hash) {
        const value = bytesOf(certificate_hash);
        options.serverCertificateHashes = [{ algorithm: "sha-256", value }];
      }
      own.transport = new WebTransport(`https://${new URL(this.#server).hostname}:${this.#port ?? port}/`, options);
      own.transport.closed.then(
        // Without a code and a sentence it is lost, as by an error.
        ({ closeCode, reason }) => this.#ended(own, closeCode || reason ? closeCode : -1, reason),
        (error) => this.#ended(own, -1, error.message || "the connection was lost"),
      );
      await own.transport.ready;
      const stream = await own.transport.createBidirectionalStream();
      if (this.#current !== own) return;
      own.stream = stream.writable.getWriter();
      const datagrams = own.transport.datagrams;
      datagrams.incomingHighWaterMark = 256;
      own.datagrams = (datagrams.createWritable?.() ?? datagrams.writable).getWriter();
      this.#game.opened();
      this.flush();
      this.#read(own, stream.readable, (bytes) => this.#game.takeStream(bytes, this.#now()));
      this.#read(own, datagrams.readable, (bytes) => this.#game.takeDatagram(bytes, this.#now()));
    } catch (error) {
      this.#ended(own, -1, error.message || "cannot connect");
    }
  }

  async #read(own, readable, take) {
    const reader = readable.getReader();
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done || this.#current !== own) return;
        take(value);
      }
    } catch (error) {
      // `closed` reports the end of a connection; anything else could not be read.
      if (this.#current === own && !(error instanceof WebTransportError)) {
        this.#ended(own, 3, `cannot read what the server sent: ${error.message}`);
        this.#shut(own, 3, "malformed");
      }
    }
  }

  /** Sends what the game has to send. */
  flush() {
    const own = this.#current;
    if (!own?.stream) {
      // Due data goes nowhere, and is not due again.
      this.#game.giveDatagram(this.#now());
      return;
    }
    const ignore = () => {};
    const bytes = this.#game.giveStream();
    if (bytes) {
      this.sent += bytes.length;
      own.stream.write(bytes).catch(ignore);
    }
    const datagram = this.#game.giveDatagram(this.#now());
    if (datagram) {
      this.sent += datagram.length;
      own.datagrams.write(datagram).catch(ignore);
    }
  }

  /** Closes the connection; the game expects it. */
  close(code, reason) {
    const own = this.#current;
    this.#current = null;
    if (own) this.#shut(own, code, reason);
  }

  #shut(own, code, reason) {
    try {
      own.transport?.close({ closeCode: code, reason });
    } catch {
      // It is closed already.
    }
  }

  #ended(own, code, reason) {
    if (this.#current !== own) return;
    this.#current = null;
    this.#game.closed(code, reason, this.#now());
    this.#shut(own, 0, "");
  }
}
