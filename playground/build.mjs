// Bundles the page into one folder of static files: node build.mjs ENGINE.wasm PRESETS.json SCHEMA.json OUT
import { build } from "esbuild";
import { mkdir, readFile, writeFile, copyFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What a browser may have to load, in bytes, compressed. */
const MOST = 1_000_000;

const [, , wasm, presets, schema, out] = process.argv;
const here = join(dirname(fileURLToPath(import.meta.url)), "src");
const common = { bundle: true, minify: true, format: "iife", target: ["chrome80", "firefox113", "safari16.4"], legalComments: "none", write: false };
const worker = await build({ ...common, entryPoints: [join(here, "worker.ts")] });
// The engine is part of the script, so that the page works where it is opened as a file.
const engine = gzipSync(await readFile(wasm), { level: 9 }).toString("base64");
const main = await build({
  ...common,
  entryPoints: [join(here, "main.ts")],
  define: {
    WORKER: JSON.stringify(worker.outputFiles[0].text),
    ENGINE: JSON.stringify(engine),
    PRESETS: JSON.stringify(JSON.parse(await readFile(presets, "utf8"))),
    SCHEMA: JSON.stringify(JSON.parse(await readFile(schema, "utf8"))),
  },
});
const style = await build({ ...common, stdin: { contents: '@import "uplot/dist/uPlot.min.css"; @import "./style.css";', resolveDir: here, loader: "css" } });
await mkdir(out, { recursive: true });
await writeFile(join(out, "playground.js"), main.outputFiles[0].text);
await writeFile(join(out, "playground.css"), style.outputFiles[0].text);
await copyFile(join(here, "index.html"), join(out, "index.html"));
const size = readdirSync(out).reduce((sum, name) => sum + gzipSync(readFileSync(join(out, name))).length, 0);
console.log(`playground: ${out}/index.html, ${Math.round(size / 1000)} kB compressed`);
if (size > MOST) throw new Error(`expected at most ${MOST} bytes compressed, got ${size}`);
