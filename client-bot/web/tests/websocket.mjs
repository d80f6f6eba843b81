// What the page's WebSocket sends and when, for Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Link } from "../page/websocket.js";

function open() {
  const socket = {
    bufferedAmount: 0,
    sent: [],
    send: (bytes) => socket.sent.push([...bytes]),
    close: (code, reason) => socket.sent.push(["close", code, reason]),
  };
  return { socket, link: new Link(socket) };
}

test("while the browser holds bytes, a newer datagram replaces the one that waits", () => {
  const { socket, link } = open();
  link.writeDatagram(Uint8Array.of(7));
  socket.bufferedAmount = 100_000;
  link.writeDatagram(Uint8Array.of(8));
  link.writeDatagram(Uint8Array.of(9));
  link.flush();
  assert.deepEqual(socket.sent, [[1, 7]]);
  socket.bufferedAmount = 0;
  link.flush();
  link.flush();
  assert.deepEqual(socket.sent, [[1, 7], [1, 9]]);
});

test("the stream goes as far as the server allows, in order and without a gap", () => {
  const { socket, link } = open();
  const bytes = Uint8Array.from({ length: 10_000 }, (_, i) => i % 251);
  link.writeStream(bytes.slice(0, 3000));
  link.writeStream(bytes.slice(3000));
  const sent = () => socket.sent.flatMap(([kind, ...rest]) => (assert.equal(kind, 0), rest));
  assert.equal(sent().length, 4096);
  link.allow(4096 + 10);
  assert.equal(sent().length, 4106);
  link.allow(20_000);
  assert.deepEqual(sent(), [...bytes]);
});

test("a connection is closed with the protocol's code behind 4,000", () => {
  const { socket, link } = open();
  link.close(0, "bye");
  assert.deepEqual(socket.sent, [["close", 4000, "bye"]]);
});
