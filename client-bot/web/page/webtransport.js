// A connection over WebTransport: HTTP/3 on the server's own UDP port.

import { bytesOf } from "./game.js";

/**
 * Opens a connection to the server of a page, with the game's stream on it. `port` is used instead
 * of the server's own, if another is forwarded to that. An aborted `signal` closes it.
 */
export async function openWebTransport({ server, port, signal }, on) {
  const connect = await fetchParameters(server, signal);
  const options = { congestionControl: "low-latency" };
  if (connect.certificate_hash) {
    const value = bytesOf(connect.certificate_hash);
    options.serverCertificateHashes = [{ algorithm: "sha-256", value }];
  }
  const transport = new WebTransport(`https://${new URL(server).hostname}:${port ?? connect.port}/`, options);
  const close = (code, reason) => {
    try {
      transport.close({ closeCode: code, reason });
    } catch {
      // It is closed already.
    }
  };
  signal.addEventListener("abort", () => close(0, ""));
  transport.closed.then(
    // Without a code and a sentence it is lost, as by an error.
    ({ closeCode, reason }) => on.ended(closeCode || reason ? closeCode : -1, reason),
    (error) => on.ended(-1, error.message || "the connection was lost"),
  );
  await transport.ready;
  const stream = await transport.createBidirectionalStream();
  const datagrams = transport.datagrams;
  datagrams.incomingHighWaterMark = 256;
  const streamOut = stream.writable.getWriter();
  const datagramsOut = (datagrams.createWritable?.() ?? datagrams.writable).getWriter();
  read(stream.readable, on.stream);
  read(datagrams.readable, on.datagram);
  const ignore = () => {};
  return {
    writeStream: (bytes) => streamOut.write(bytes).catch(ignore),
    writeDatagram: (bytes) => datagramsOut.write(bytes).catch(ignore),
    close,
  };
}

/** The parameters of the server of a page: `{ port, certificate_hash, servers }`. */
export async function fetchParameters(server, signal) {
  const answer = await fetch(new URL("connect.json", server), { cache: "no-store", signal });
  return answer.json();
}

async function read(readable, take) {
  const reader = readable.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      take(value);
    }
  } catch {
    // `closed` reports the end of the connection.
  }
}
