import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ROOT, browser, done, link, native, open, text } from "./page.mjs";

const presets = JSON.parse(await readFile(join(ROOT, "build/playground/presets.json"), "utf8"));
/** An experiment without a story, which shows all controls. */
const FREE = "#red-or-pi";
const free = presets.find((each) => `#${each.id}` === FREE);
let chromium;
before(async () => (chromium = await browser()));
after(() => chromium.close());

for (const preset of presets.filter((each) => !each.story)) {
  test(`${preset.id}: both sides run, with the fingerprints of the native engine`, async () => {
    const { page, problems } = await open(chromium, `#${preset.id}`);
    const status = await done(page);
    const [results, errors] = await page.evaluate(() => [
      window.sojourn.results().map((result) => ({ toml: result.toml, seed: result.seed, fingerprint: result.record.fingerprint })),
      [...document.querySelectorAll(".error")].map((each) => each.textContent).filter((text) => text !== ""),
    ]);
    assert.deepEqual(errors, []);
    for (const result of results) assert.equal(result.fingerprint, await native(result.toml, result.seed));
    const printed = await page.$$eval("#results .printed", (cells) => cells.map((cell) => cell.textContent).join(" "));
    for (const number of preset.measures.filter((row) => row.path).flatMap((row) => row.printed).filter((each) => each !== null)) {
      assert.ok(printed.includes(String(number >= 1000 ? number.toFixed(0) : number)) || printed.includes(number.toFixed(1)), `${number} in ${printed}`);
    }
    assert.deepEqual(problems, []);
    console.log(`${preset.id}: ${status}`);
    await page.close();
  });
}

test("the surfaces of laws, also of one with a probability for each flow and of a controller, have an operating point that moves", async () => {
  const words = { lehto: /^Law B: probability$/, fuzzyrtt: /^Law B: what the rules add/, flower: /^Law B of lbe\/0: change of the window/ };
  for (const [preset, caption] of Object.entries(words)) {
    const { page, problems } = await open(chromium, `#${preset}`);
    await done(page);
    await page.waitForFunction(() => !document.getElementById("surface-b").closest("figure").hidden, { timeout: 60_000 });
    assert.match(await page.$eval("#surface-b", (canvas) => canvas.closest("figure").querySelector("figcaption").textContent), caption);
    // What is out of view is not drawn.
    await page.evaluate(async () => {
      document.getElementById("surface-b").scrollIntoView();
      for (let frame = 0; frame < 3; frame++) await new Promise((next) => requestAnimationFrame(next));
    });
    const pictures = await page.evaluate(() => [200, 500, 900].map((at) => {
      const time = document.getElementById("time");
      time.value = String(at);
      time.dispatchEvent(new Event("input"));
      return document.getElementById("surface-b").toDataURL();
    }));
    assert.equal(new Set(pictures).size, 3, preset);
    assert.deepEqual(problems, []);
    await page.close();
  }
});

test("a slider moves the plots", async () => {
  const { page, problems } = await open(chromium, FREE);
  await done(page);
  const spent = await page.evaluate(async () => {
    const slider = document.querySelector("#network input[type=range]");
    const pictures = () => ["delay", "windows"].map((id) => document.querySelector(`#${id} canvas`).toDataURL()).join();
    const times = [];
    for (const step of [300, 700, 400, 600, 500, 350, 650]) {
      const before = pictures();
      const begin = performance.now();
      slider.value = String(step);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      while (window.sojourn.timing().drawn === 0) await new Promise((done) => setTimeout(done, 2));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));  // painted
      const whole = performance.now() - begin, { answered, drawing, drawn } = window.sojourn.timing();
      const engine = Math.max(...window.sojourn.results().map((result) => result.milliseconds));
      times.push({ whole, engine, handed: answered - engine, frame: drawing - answered, drawing: drawn - drawing, painting: whole - drawn, moved: pictures() !== before });
    }
    return times;
  });
  const middle = (part) => spent.map((each) => each[part]).sort((a, b) => a - b)[3].toFixed(0);
  console.log(`from a slider to a plot: ${spent.map((each) => each.whole.toFixed(0)).join(", ")} ms; medians: the engine ${middle("engine")}, to ask and to hand over ${
    middle("handed")}, until the next frame ${middle("frame")}, the page draws ${middle("drawing")}, the browser paints ${middle("painting")} ms`);
  assert.deepEqual(spent.map((each) => each.moved), Array(7).fill(true));
  assert.deepEqual(problems, []);
  await page.close();
});

test("one flow is left where the slider of flows ends", async () => {
  const { page, problems } = await open(chromium, FREE);
  await done(page);
  await page.$eval('#network input[aria-label^="flows"]', (slider) => {
    slider.value = slider.min;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.waitForFunction(() => window.sojourn.results().every((result) => result.record.flows.length === 1), { timeout: 60_000 });
  assert.match(await done(page), /^run in/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a link brings back the same scenarios, and A as TOML can be read", async () => {
  const { page } = await open(chromium, "#lehto");
  await done(page);
  const first = await page.evaluate(() => window.sojourn.results().map((result) => result.record.fingerprint));
  await page.$eval("#share", (button) => button.click());
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  const hash = await page.evaluate(() => location.hash);
  const { page: again } = await open(chromium, hash);
  await done(again);
  assert.deepEqual(await again.evaluate(() => window.sojourn.results().map((result) => result.record.fingerprint)), first);
  await page.close();
  await again.close();
});

test("a hostile link is refused with the checker's message, and the page goes on", async () => {
  const { page, problems } = await open(chromium, FREE);
  await done(page);
  const hostile = (change) => {
    const sides = structuredClone(free.sides);
    change(sides[0].table);
    return { preset: free.id, sides, seed: 1, seeds: 1 };
  };
  const cases = [
    [(table) => (table.flows[0].count = 1e9), /^expected .*, got 1000000000/],
    [(table) => (table.flows[0].count = 50_000), /^expected at most 20000 in a page, got 50000|^flows: expected at most 20000 in a page, got 50000/],
    [(table) => Object.assign(table, { duration: "1000000 s", trace: {} }), /^expected a run of at most 10000000 events, got 1000000 s/],
    [(table) => (table.links[0].rate = "<img src=x onerror=alert(1)>"), /expected a rate/],
    [(table) => (table.links = 7), /links: expected/],
    [(table) => (table.flows = [3, "x"]), /^flows\[0\]: expected/],
    [(table) => (table.flows = [{ name: "x", start: [null] }]), /^flows\[0\]\.start\[0\]: expected a value, got null/],
  ];
  const shown = () => page.$$eval(".error:not(#error-link)", (all) => all.map((each) => each.textContent).filter((text) => text));
  for (const [change, message] of cases) {
    await page.evaluate((hash) => (location.hash = hash), await link(page, hostile(change)));
    const begin = Date.now();
    await page.waitForFunction(() => document.querySelector(".error:not(#error-link):not(:empty)"), { timeout: 60_000 });
    const [first, ...more] = await shown();
    assert.match(first, message);
    assert.deepEqual(more, []);
    console.log(`refused in ${Date.now() - begin} ms: ${first.slice(0, 100)}`);
    await page.evaluate(() => (location.hash = "#lehto"));
    await page.waitForFunction(() => !document.querySelector(".error:not(#error-link):not(:empty)") && /^run in/.test(document.getElementById("status").textContent), { timeout: 60_000 });
  }
  for (const hash of ["#s=AAAA", "#s=%%%", `#s=${"A".repeat(300_000)}`]) {
    await page.evaluate((hash) => (location.hash = hash), hash);
    await page.waitForFunction(() => /^link: expected/.test(document.getElementById("error-link").textContent), { timeout: 60_000 });
    await page.waitForFunction(() => /^run in/.test(document.getElementById("status").textContent), { timeout: 60_000 });
    assert.match(await text(page, "#error-link"), /^link: expected/, "it stays when the first experiment has been run");
    await page.evaluate(() => (location.hash = "#lehto"));
    await page.waitForFunction(() => document.getElementById("error-link").textContent === "", { timeout: 60_000 });
  }
  assert.deepEqual(problems, []);
  await page.close();
});

test("a browser without WebAssembly gets a sentence", async () => {
  const { page, problems } = await open(chromium, "", { before: () => delete window.WebAssembly });
  assert.match(await page.$eval("#old", (element) => (element.hidden ? "" : element.textContent)), /too old for the playground/);
  assert.equal(await page.$eval("main", (element) => element.hidden), true);
  assert.deepEqual(problems, []);
  await page.close();
});

for (const [name, look] of Object.entries({ desktop: {}, dark: { dark: true }, phone: { width: 390, height: 844, touch: true } })) {
  test(`${name}: axe finds no serious fault, and nothing is wider than the screen`, async () => {
    const { page } = await open(chromium, "#lehto", look);
    await done(page);
    await page.$$eval("details", (all) => all.forEach((each) => (each.open = true)));
    await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
    const found = await page.evaluate(async () => (await window.axe.run()).violations);
    const serious = found.filter((each) => ["serious", "critical"].includes(each.impact));
    assert.deepEqual(serious.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 100)).join(" | ")}`), []);
    const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= screen, `${wide} of ${screen} pixels`);
    if (process.env.SCREENSHOTS) {
      await page.$$eval("details", (all) => all.forEach((each) => (each.open = false)));
      await page.evaluate(() => scrollTo(0, 0));
      await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
    }
    await page.close();
  });
}

test("the keyboard reaches and moves a slider", async () => {
  const { page } = await open(chromium, FREE);
  await done(page);
  const before = await page.evaluate(() => window.sojourn.results()[0].record.fingerprint);
  await page.focus("#network input[type=range]");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("PageUp");
  await page.waitForFunction((before) => window.sojourn.results()[0].record.fingerprint !== before, { timeout: 60_000 }, before);
  await page.close();
});
