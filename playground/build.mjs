// Bundles the page into one folder of static files: node build.mjs ENGINE.wasm PRESETS.json SCHEMA.json OUT
import { build } from "esbuild";
import { mkdir, readFile, writeFile, copyFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { readFileSync } from "node:fs";
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
const listed = JSON.parse(await readFile(presets, "utf8"));
const html = await readFile(join(here, "index.html"), "utf8");
await copyFile(join(here, "preview.png"), join(out, "preview.png"));
/** A page with what a link to it shows elsewhere. Crawlers want whole addresses, so PLAYGROUND_URL is that of the published folder. */
const page = (name, title, description, story) => {
  const text = (value) => value.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
  const base = process.env.PLAYGROUND_URL ?? "";
  const meta = { "og:type": "website", "og:site_name": "Sojourn", "og:title": title, "og:description": description, "og:image": `${base}preview.png`,
    ...(base ? { "og:url": base + name } : {}) };
  const head = [
    `<title>${text(title)}</title>`, `<meta name="description" content="${text(description)}">`, '<meta name="twitter:card" content="summary_large_image">',
    ...Object.entries(meta).map(([property, content]) => `<meta property="${property}" content="${text(content)}">`),
  ].join("\n");
  const own = html.replace(/<!-- PREVIEW.*-->/, () => head).replace("<html", story ? `<html data-story="${story}"` : "<html");
  return writeFile(join(out, name), own);
};
await page("index.html", "Sojourn: what queues do to packets", "Six short experiments about queues and congestion control. Predict, then watch every packet.");
for (const { id, title, story } of listed.filter((each) => each.story)) await page(`${id}.html`, title, story.question, id);
// The picture is for other sites, and a browser loads one of the pages.
const loaded = ["index.html", "playground.css", "playground.js"];
const size = loaded.reduce((sum, name) => sum + gzipSync(readFileSync(join(out, name))).length, 0);
console.log(`playground: ${out}/index.html, ${Math.round(size / 1000)} kB compressed`);
if (size > MOST) throw new Error(`expected at most ${MOST} bytes compressed, got ${size}`);
