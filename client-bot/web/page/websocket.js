// A connection over WebSocket, on the page's own port: TCP, where a network carries nothing else.

const [STREAM, DATAGRAM, WINDOW, CLOSE] = [0, 1, 2, 3];
/** What the server takes of the stream before it allows more. */
const WINDOW_BYTES = 4096;
/** Codes of the protocol in close frames begin here. */
const CLOSE_FRAMES = 4000;
/** While the browser holds more than this, the next datagram waits, and a newer one replaces it. */
const UNSENT_BYTES = 2048;
const decoder = new TextDecoder();

/** Opens a connection to the server of a page. An aborted `signal` closes it. */
export async function openWebSocket({ server, signal }, on) {
  const url = new URL("play", server);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  signal.addEventListener("abort", () => socket.close());
  const link = new Link(socket);
  let said = null;
  socket.onmessage = ({ data }) => {
    const bytes = new Uint8Array(data);
    const rest = bytes.subarray(1);
    const view = new DataView(data, Math.min(1, data.byteLength));
    if (bytes[0] === STREAM) on.stream(rest);
    else if (bytes[0] === DATAGRAM) on.datagram(rest);
    else if (bytes[0] === WINDOW && rest.length === 8) link.allow(Number(view.getBigUint64(0, true)));
    else if (bytes[0] === CLOSE && rest.length >= 4) said = [view.getUint32(0, true), decoder.decode(rest.subarray(4))];
    else on.malformed("a message of an unknown kind");
  };
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    // A browser does not say why.
    socket.onclose = () => reject(new Error("cannot connect"));
  });
  socket.onclose = ({ code, reason }) => {
    if (said) on.ended(...said);
    else on.ended(code >= CLOSE_FRAMES ? code - CLOSE_FRAMES : -1, reason || "the connection was lost");
  };
  return link;
}

/** What is sent: pieces of the stream within its window, and the newest datagram. */
export class Link {
  #socket;
  #unsent = new Uint8Array(0);
  #sent = 0;
  #allowed = WINDOW_BYTES;
  #datagram = null;

  constructor(socket) {
    this.#socket = socket;
  }

  /** The server takes the stream up to this offset. */
  allow(offset) {
    this.#allowed = offset;
    this.#sendStream();
  }

  writeStream(bytes) {
    this.#unsent = joined(this.#unsent, bytes);
    this.#sendStream();
  }

  writeDatagram(bytes) {
    this.#datagram = bytes;
    this.flush();
  }

  /** Sends the datagram that waits, if the browser takes it now. */
  flush() {
    if (!this.#datagram || this.#socket.bufferedAmount > UNSENT_BYTES) return;
    this.#send(DATAGRAM, this.#datagram);
    this.#datagram = null;
  }

  close(code, reason) {
    this.#socket.close(CLOSE_FRAMES + code, reason);
  }

  #sendStream() {
    const piece = this.#unsent.slice(0, this.#allowed - this.#sent);
    if (piece.length === 0) return;
    this.#unsent = this.#unsent.slice(piece.length);
    this.#sent += piece.length;
    this.#send(STREAM, piece);
  }

  #send(kind, bytes) {
    this.#socket.send(joined([kind], bytes));
  }
}

function joined(first, second) {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
