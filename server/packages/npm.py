"""The client for browsers as a package for npm: the page's own modules, with types."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from common import ABOUT, LICENSE, LICENSES, ROOT, TARGET, VERSION, Missing, copy, fresh, run, tool, write, write_tar

NAME = "myriad-client"
WEB = ROOT / "client-bot/web"
# Another version may have other opinions of the types.
TYPESCRIPT = "typescript@5.9.3"


# The types of what the client gives as JSON, and the structures that it writes.
WRITTEN = {"Happening": "EventText", "Schema": "SchemaText", "Kind": "KindText", "Zone": "ZoneText",
           "CommandSchema": "CommandText", "Entity": "EntityText", "Quality": "Quality"}


def build(options):
    compare_types()
    folder = fresh(TARGET / "packages" / "npm")
    for file in ["index.js", "index.d.ts", "README.md"]:
        copy(WEB / "package" / file, folder / file)
    for file in ["game.js", "planes.js", "transport.js", "webtransport.js", "websocket.js"]:
        copy(WEB / "page" / file, folder / file)
    copy(WEB / "prebuilt/game.wasm", folder / "game.wasm")
    for file in LICENSES:
        copy(ROOT / file, folder / file)
    write(folder / "package.json", json.dumps(manifest(), indent=2) + "\n")
    path = options.out / f"{NAME}-{VERSION}.tgz"
    write_tar(folder, path, "package")
    return path


def compare_types():
    types = (WEB / "package/index.d.ts").read_text()
    source = (WEB / "src/text.rs").read_text()
    for name, struct in WRITTEN.items():
        declared = re.search(rf"^export interface {name} {{\n(.*?)^}}", types, re.M | re.S)[1]
        written = re.search(rf"struct {struct}(?:<'a>)? {{\n(.*?)^}}", source, re.M | re.S)[1]
        declared = re.findall(r"^  (\w+): ", declared, re.M)
        written = re.findall(r"^    (?:r#)?(\w+): ", written, re.M)
        assert declared == written, f"index.d.ts: {name} has {declared}, but the client writes {written}"


def manifest():
    found = {
        "name": NAME,
        "version": VERSION,
        "description": f"{ABOUT['client_summary']}, for browsers",
        "keywords": ABOUT["keywords"],
        "license": f"({LICENSE})",
        "author": f"{ABOUT['authors']} <{ABOUT['email']}>",
        "type": "module",
        "sideEffects": False,
        "types": "./index.d.ts",
        "exports": {
            ".": {"types": "./index.d.ts", "default": "./index.js"},
            "./game.wasm": "./game.wasm",
            "./package.json": "./package.json",
        },
    }
    return found | ({"homepage": ABOUT["homepage"]} if ABOUT["homepage"] else {})


def test(path):
    npm, node = tool("npm"), tool("node")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "package.json", '{ "type": "module", "private": true }\n')
        run(npm, "install", "--offline", "--no-audit", "--no-fund", path, cwd=folder)
        write(Path(folder) / "use.mjs", USE)
        assert run(node, "use.mjs", cwd=folder) == "connect\n"
        write(Path(folder) / "use.ts", TYPED)
        words = [npm, "install", "--no-audit", "--no-fund", "--fetch-retries=1", TYPESCRIPT]
        if subprocess.run(words, cwd=folder, capture_output=True).returncode != 0:
            raise Missing("its types are not checked: TypeScript cannot be installed")
        run("node_modules/.bin/tsc", "--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom",
            "--module", "nodenext", "use.ts", cwd=folder)


# All that is declared is there, and the client begins: it wants a connection.
USE = """\
import { readFile } from "node:fs/promises";
import * as client from "myriad-client";

const declared = await readFile(new URL("./node_modules/myriad-client/index.d.ts", import.meta.url), "utf8");
const names = [...declared.matchAll(/^export (?:declare )?(?:function|class|const) (\\w+)/gm)].map((found) => found[1]);
const own = Object.keys(client).sort();
if (names.sort().join() !== own.join()) throw new Error(`declared ${names}, exported ${own}`);
for (const [name, value] of [["Game", client.Game], ["Transport", client.Transport]]) {
  const text = declared.match(new RegExp(`export class ${name} \\\\{([^]*?)^\\\\}`, "m"))[1];
  const methods = [...text.matchAll(/^  (?:async |get )?(\\w+)\\(/gm)].map((found) => found[1]);
  const found = Object.getOwnPropertyNames(value.prototype);
  const lacking = methods.filter((method) => !found.includes(method));
  const undeclared = found.filter((method) => !methods.includes(method));
  if (lacking.length + undeclared.length > 0) throw new Error(`${name}: ${lacking}, ${undeclared}`);
}
const { instance } = await WebAssembly.instantiate(await readFile(client.wasm), {});
const game = new client.Game(instance.exports);
game.begin("", null);
console.log(game.nextStep(0));
"""

TYPED = """\
import { ONE, Transport, each, load, wasm, type Happening } from "myriad-client";

async function play(): Promise<void> {
  const game = await load(wasm);
  const transport = new Transport(game, () => performance.now(), null, "https://game.example:8433/");
  game.begin("", null);
  const now = performance.now();
  if (game.nextStep(now) === "connect") await transport.connect();
  game.poll(now).forEach((happening: Happening) => console.log(happening.type));
  if (game.inputDue(now) >= 0) game.command(0, [ONE, 0]);
  each(game.entities(-1), ({ x, y, isOwn }) => console.log(x + y, isOwn));
  // @ts-expect-error: a number is expected.
  game.command("move", []);
}
play();
"""
