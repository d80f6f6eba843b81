// The client for browsers, as a package: all that the page of the server uses of it.

export { Game, ONE, bytesOf, each, load, talkOf } from "./game.js";
export { planeAt } from "./planes.js";
export { Transport } from "./transport.js";

/** Where the client's WebAssembly is: `await load(wasm)`. */
export const wasm = new URL("./game.wasm", import.meta.url);
