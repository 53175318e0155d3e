// The page in Chromium without a window, opened as a file: it needs no server.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import puppeteer from "puppeteer-core";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const SITE = join(ROOT, "build/playground/site");
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];

export function browser() {
  const executablePath = process.env.CHROMIUM ?? BROWSERS.find((path) => existsSync(path));
  assert.ok(executablePath, "no browser: set CHROMIUM");
  return puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu"], protocolTimeout: 240_000 });
}

/** A page with what its console says in `problems`. */
export async function open(browser, address = "", { before, width = 1280, height = 900, dark = false, touch = false, still = false, file = "index.html" } = {}) {
  const page = await browser.newPage();
  await page.setViewport({ width, height, hasTouch: touch, isMobile: touch });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: dark ? "dark" : "light" },
    { name: "prefers-reduced-motion", value: still ? "reduce" : "no-preference" },
  ]);
  const problems = [];
  page.on("console", (message) => ["error", "warn"].includes(message.type()) && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("requestfailed", (request) => problems.push(`${request.url()}: ${request.failure()?.errorText}`));
  if (before) await page.evaluateOnNewDocument(before);
  await page.goto(pathToFileURL(join(SITE, file)).href + address);
  return { page, problems };
}

export const text = (page, selector) => page.$eval(selector, (element) => element.textContent);

/** Waits for the end of all runs; gives the status. */
export async function done(page) {
  await page.waitForFunction(() => /^(run in|not run|The engine)/.test(document.getElementById("status").textContent), { timeout: 200_000 });
  return text(page, "#status");
}

/** A link that holds a state, made as the page makes it. */
export function link(page, state) {
  return page.evaluate(async (state) => {
    const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    return `#s=${btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}`;
  }, state);
}

/** The fingerprint of a scenario by the program that is installed. */
export async function native(toml, seed) {
  const file = join(await mkdtemp(join(tmpdir(), "playground-")), "scenario.toml");
  await writeFile(file, toml);
  const { stdout } = await promisify(execFile)(process.env.SOJOURN ?? "sojourn", ["run", file, "--seed", String(seed), "--json"], { maxBuffer: 1e9 });
  return JSON.parse(stdout).fingerprint;
}
