import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { OTHERS } from "./others.mjs";
import { ROOT, SITE, native } from "./page.mjs";

const presets = JSON.parse(await readFile(join(ROOT, "build/playground/presets.json"), "utf8"));

/** Asks the page until it has what is looked for. */
async function until(page, call, ...values) {
  for (const end = Date.now() + 200_000; Date.now() < end;) {
    const found = await page.evaluate(call, ...values);
    if (found) return found;
    await new Promise((soon) => setTimeout(soon, 50));
  }
  throw new Error(`expected ${call}, got nothing in 200 s`);
}

for (const [name, { missing, open }] of Object.entries(OTHERS)) {
  test(`${name}: every experiment runs with the fingerprints of the native engine, and is drawn`, { skip: missing || false }, async (context) => {
    const page = await open();
    context.after(() => page.close());
    await page.resize(1280, 900);
    for (const preset of presets) {
      // Another query makes it another page.
      await page.goto(`${pathToFileURL(join(SITE, "index.html")).href}?${preset.id}#${preset.id}`);
      const status = await until(page, () => window.sojourn?.timing().drawn > 0 && /^(run in|not run)/.test(document.getElementById("status").textContent) &&
        document.getElementById("status").textContent);
      const results = await page.evaluate(() => window.sojourn.results().map((each) => ({ toml: each.toml, seed: each.seed, fingerprint: each.record.fingerprint })));
      for (const result of results) assert.equal(result.fingerprint, await native(result.toml, result.seed));
      const [errors, colors, wide, screen] = await page.evaluate(() => {
        const canvas = document.querySelector("body.asking #scene-a") ?? document.querySelector("#delay canvas");
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        const errors = [...document.querySelectorAll(".error")].map((each) => each.textContent).filter((text) => text !== "");
        return [errors, new Set(new Uint32Array(data.buffer)).size, document.documentElement.scrollWidth, innerWidth];
      });
      assert.deepEqual(errors, []);
      assert.ok(colors > 10, `${preset.id}: a chart with ${colors} colors`);
      assert.ok(wide <= screen, `${preset.id}: ${wide} of ${screen} pixels`);
      console.log(`${name}, ${preset.id}: ${status}`);
      if (process.env.SCREENSHOTS) await page.screenshot(join(process.env.SCREENSHOTS, `${name}-${preset.id}.png`));
    }
    await page.goto(`${pathToFileURL(join(SITE, "index.html")).href}?slider#red-or-pi`);
    const before = await until(page, () => window.sojourn?.timing().drawn > 0 && window.sojourn.results().map((each) => each.record.fingerprint).join());
    await page.evaluate(() => {
      const slider = document.querySelector("#network input[type=range]");
      slider.value = "300";
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await until(page, (before) => window.sojourn.timing().drawn > 0 && window.sojourn.results().map((each) => each.record.fingerprint).join() !== before, before);
    console.log(`${name}, from a slider to a plot: ${Math.round(await page.evaluate(() => window.sojourn.timing().drawn))} ms`);
    assert.deepEqual(page.problems, []);
  });
}
