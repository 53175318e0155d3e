// The page: two scenarios, A and B. Both are run with the same seeds when one of them changes.

import { restyled } from "./charts";
import { showErrors } from "./errors";
import { Panels, type Side } from "./panels";
import { Player, still } from "./player";
import { get, NAMES, Plots } from "./plots";
import { Scene, Strip } from "./scene";
import { Teller, type Story } from "./story";
import { choice, element } from "./controls";
import { Lab, Replaced } from "./lab";
import { Schema } from "./schema";
import { bytesOf, fromLink, toLink } from "./share";
import { copy, isTable, quantity } from "./tree";
import { fill, type Row } from "./results";
import { why } from "./words";
import type { Result, Replies } from "./protocol";
import type { Table } from "./engine";

declare const ENGINE: string;
declare const PRESETS: Preset[];
/** The JSON Schema of scenarios, as `sojourn schema` prints it. */
declare const SCHEMA: object;

interface Preset {
  id: string;
  title: string;
  source: string;
  seed: number;
  sides: [Side, Side];
  measures: Row[];
  says: string[];
  /** What a reader is asked and told; absent for the experiments of papers. */
  story?: Story;
}

/** Time in ms without slider input before laws and further seeds are computed. */
const REST = 150;
/** Time in ms for which a result waits for the other side's, so that both are drawn together. */
const TOGETHER = 40;

class Page {
  private preset: Preset = PRESETS[0]!;
  private sides: [Side, Side] = copy(this.preset.sides);
  private seed = 1;
  private seeds = 1;
  private results: (Result | undefined)[] = [undefined, undefined];
  private laws: (Replies["law"] | undefined)[] = [undefined, undefined];
  /** The questions behind these results and laws, to avoid repeating them. */
  private readonly asked = { results: ["", ""], laws: ["", ""] };
  private readonly due = new Set<"results" | "laws">();
  private turn = 0;
  /** The numbers of the requests that these results answer. */
  private readonly turns = [0, 0];
  /** The last change, and times in ms after it: both answers arrived, drawing of visible parts started, drawing ended. */
  private spent = { begin: 0, answered: 0, drawing: 0, drawn: 0 };
  private readonly panels: Panels;
  private errors: [string, string] = ["", ""];
  private readonly plots = new Plots();
  private readonly scenes: [Scene, Scene] = [new Scene(get("scene-a"), 0), new Scene(get("scene-b"), 1)];
  private readonly player = new Player(() => this.moved());
  private readonly strip = new Strip(get("strip"), (part) => this.player.move(part * (this.results[0]?.record.duration_s ?? 1)));
  private readonly teller = new Teller(() => {
    this.veil();
    if (!still()) this.player.play(true);
  });
  /** When the first result of the page was drawn, in ms after its address was opened. */
  private first = 0;

  constructor(private readonly labs: [Lab, Lab], schema: Schema) {
    this.panels = new Panels(schema, () => this.changed(), () => {
      this.controls();
      this.changed();
    });
    this.top();
    get<HTMLDetailsElement>("bench").open = innerWidth > 800;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
  }

  /** The presets, seeds and controls of the whole page. */
  private top(): void {
    const presets = PRESETS.map((preset) => ({ value: preset.id, label: preset.title }));
    get("presets").replaceChildren(choice("experiment", presets, this.preset.id, (id) => {
      history.replaceState(null, "", `#${id}`);
      this.open(PRESETS.find((preset) => preset.id === id)!);
    }));
    get("stories").replaceChildren(...PRESETS.filter((preset) => preset.story).map((preset, i) =>
      element("a", { href: `#${preset.id}` }, element("b", {}, String(i + 1)), ` ${preset.story!.short}`)));
    const seed = get<HTMLInputElement>("seed");
    seed.onchange = () => {
      this.seed = Math.max(0, Math.round(Number(seed.value)) || 0);
      seed.value = String(this.seed);
      this.changed();
    };
    const seeds = get<HTMLSelectElement>("seeds");
    seeds.onchange = () => {
      this.seeds = Number(seeds.value);
      this.changed();
    };
    get("share").onclick = () => void this.share();
    NAMES.forEach((name, i) => (get(`export-${name.toLowerCase()}`).onclick = () => void this.download(i as 0 | 1)));
    get("theme").onclick = () => {
      const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
      document.documentElement.dataset["theme"] = dark ? "light" : "dark";
      this.restyle();
    };
    this.plots.onclick((seconds) => {
      this.player.move(seconds);
      this.explain(0);
      this.explain(1);
    });
    NAMES.forEach((name, i) => (get(`next-${name.toLowerCase()}`).onclick = () => this.next(i as 0 | 1)));
    get("embed").onclick = () => this.embed();
  }

  /** Explains the first drop or mark from the current time on. */
  private explain(i: 0 | 1): void {
    const result = this.results[i];
    if (!result) return;
    const { t } = result.signals, from = this.player.time;
    const found = t.findIndex((at) => at >= from);
    const said = found >= 0 ? why(result, found, Panels.queue(this.sides[i])) : "no packet is dropped or marked from here on.";
    get(`why-${NAMES[i].toLowerCase()}`).textContent = `${NAMES[i]}: ${said}`;
  }

  /** Moves to the next drop or mark and explains it. */
  private next(i: 0 | 1): void {
    const result = this.results[i];
    if (!result) return;
    const at = result.signals.t.find((at) => at > this.player.time + 1e-6);
    if (at !== undefined) this.player.move(at);
    this.explain(i);
  }

  open(preset: Preset, state?: { sides: [Side, Side]; seed: number; seeds: number }): void {
    this.preset = preset;
    this.sides = copy(state?.sides ?? preset.sides);
    [this.results, this.laws] = [[undefined, undefined], [undefined, undefined]];
    [this.asked.results, this.asked.laws] = [["", ""], ["", ""]];
    this.seed = state?.seed ?? preset.seed;
    this.seeds = state?.seeds ?? 1;
    get<HTMLInputElement>("seed").value = String(this.seed);
    get<HTMLSelectElement>("seeds").value = String(this.seeds);
    get("source").textContent = preset.source;
    get("says").replaceChildren(...preset.says.map((text) => element("li", {}, text)));
    get("presets").querySelector("select")!.value = preset.id;
    for (const each of get("stories").querySelectorAll("a")) {
      if (each.hash === `#${preset.id}`) {
        each.setAttribute("aria-current", "page");
        each.parentElement!.scrollLeft = each.offsetLeft - 60;
      } else each.removeAttribute("aria-current");
    }
    document.title = `${preset.title} – Sojourn`;
    get<HTMLAnchorElement>("whole").href = `index.html#${preset.id}`;
    this.teller.open(preset.story, preset.title, state !== undefined);
    this.panels.open(this.sides);
    const stories = PRESETS.filter((each) => each.story), next = stories[stories.indexOf(preset) + 1];
    get("next").hidden = next === undefined;
    if (next) Object.assign(get("next"), { href: `#${next.id}`, textContent: `Next: ${next.title}` });
    const duration = quantity(this.sides[0].table["duration"])?.value ?? 20;
    this.player.reset(preset.story ?? { pace: duration / 20, begin: 0 }, duration);
    this.veil();
    this.controls();
    this.changed();
    // The charts of other experiments are drawn with each frame.
    this.player.play(preset.story !== undefined && !still());
  }

  /** Hides what would tell a reader the answer. */
  private veil(): void {
    for (const each of [...this.scenes, this.strip]) each.veiled = this.teller.asking;
    get("curves").textContent = this.strip.words();
    this.moved();
  }

  private controls(): void {
    const open = [...document.querySelectorAll<HTMLDetailsElement>("#controls details")].map((each) => each.open);
    get("network").replaceChildren(this.panels.network(this.sides));
    NAMES.forEach((name, i) => get(`side-${name.toLowerCase()}`).replaceChildren(this.panels.side(this.sides[i]!)));
    document.querySelectorAll<HTMLDetailsElement>("#controls details").forEach((each, i) => (each.open = open[i] ?? false));
    this.teller.place();
  }

  /** Runs both again. The page shows the old results until new ones arrive. */
  changed(): void {
    const turn = ++this.turn;
    this.spent = { begin: performance.now(), answered: 0, drawing: 0, drawn: 0 };
    get("status").textContent = "running";
    const done = NAMES.map((name, i) => this.run(i as 0 | 1, `${name}.toml`, turn));
    void Promise.all(done).then(() => requestAnimationFrame(() => {
      if (turn !== this.turn) return;
      showErrors(this.errors);
      const failed = this.errors.some((each) => each !== "");
      const spent = Math.max(...this.results.map((result) => result?.milliseconds ?? 0));
      get("status").textContent = failed ? "not run" : `run in ${Math.round(spent)} ms`;
    }));
  }

  /** Draws in the next frame, once for A and B if both have arrived. */
  private soon(what: "results" | "laws"): void {
    if (this.due.size === 0) {
      requestAnimationFrame(() => {
        const due = new Set(this.due), now = () => performance.now() - this.spent.begin;
        this.due.clear();
        if (due.has("results")) {
          if (this.turns.every((turn) => turn === this.turn)) this.spent.drawing = now();
          this.draw();
          // The charts draw after this function returns.
          if (this.spent.drawing > 0) queueMicrotask(() => (this.spent.drawn = now()));
        }
        if (due.has("laws")) {
          this.plots.drawLaws(this.laws);
          this.moved();
        }
      });
    }
    this.due.add(what);
  }

  /** Draws both results together if the other one arrives soon. */
  private together(i: 0 | 1, turn: number): void {
    this.turns[i] = turn;
    if (this.turns[0] === this.turns[1]) {
      if (turn === this.turn) this.spent.answered = performance.now() - this.spent.begin;
      this.soon("results");
    } else setTimeout(() => this.turns[i] === turn && this.turns[0] !== this.turns[1] && this.soon("results"), TOGETHER);
  }

  private async run(i: 0 | 1, file: string, turn: number): Promise<void> {
    const side = NAMES[i].toLowerCase(), lab = this.labs[i];
    const warnings = get(`warnings-${side}`);
    const ask = { table: copy(this.sides[i].table), file, link: Panels.watched(this.sides[i].table), seed: this.seed };
    const asked = JSON.stringify(ask);
    try {
      if (asked !== this.asked.results[i]) {
        this.results[i] = await lab.ask<"run">({ kind: "run", ...ask });
        this.asked.results[i] = asked;
      }
      const result = this.results[i]!;
      this.errors[i] = "";
      warnings.textContent = result.warnings.join("; ");
      this.together(i, turn);
      await new Promise((rested) => setTimeout(rested, REST));
      if (turn !== this.turn) return;
      if (asked !== this.asked.laws[i]) {
        this.laws[i] = await lab.ask<"law">({ kind: "law", ...ask });
        this.asked.laws[i] = asked;
        this.soon("laws");
      }
      for (let k = result.others.length + 1; k < this.seeds; k++) {
        const other = await lab.ask<"run">({ kind: "run", ...ask, seed: this.seed + k });
        if (turn !== this.turn) return;
        result.others.push({ seed: other.seed, record: other.record });
        this.table();
      }
    } catch (caught) {
      if (caught instanceof Replaced) return;
      if (turn !== this.turn) return;
      this.errors[i] = caught instanceof Error ? caught.message : String(caught);
      warnings.textContent = "";
    }
  }

  private both(): [Result, Result] | undefined {
    const [a, b] = this.results;
    return a && b ? [a, b] : undefined;
  }

  private table(): void {
    const results = this.both();
    if (results) fill(get<HTMLTableElement>("results"), this.preset.measures, results);
  }

  private draw(): void {
    const results = this.both();
    if (!results) return;
    results.forEach((result, i) => this.scenes[i as 0 | 1].show(result));
    this.strip.show(results);
    get("curves").textContent = this.strip.words();
    NAMES.forEach((name, i) => (get(`name-${name.toLowerCase()}`).textContent = `${name}: ${this.sides[i]!.label}`));
    this.teller.fill(results);
    this.plots.draw(results, this.sides, this.preset.measures);
    this.table();
    this.player.of(results[0].record.duration_s);
    if (this.first === 0) this.first = performance.now();
  }

  /** Draws the time that the player has. */
  private moved(): void {
    const results = this.both(), { time, rate } = this.player;
    if (!results) return;
    for (const scene of this.scenes) scene.draw(time, rate);
    this.strip.at(time);
    this.plots.at(time, results);
  }

  private restyle(): void {
    restyled();
    this.plots.restyle();
    this.strip.restyle();
    this.moved();
  }

  /** Shows the element for a course page that has this experiment. */
  private embed(): void {
    const address = new URL(`index.html?embed#${this.preset.id}`, location.href).href;
    const code = `<iframe src="${address}" title="${this.preset.title}" width="100%" height="620" loading="lazy" style="border:0"></iframe>`;
    const shown = get<HTMLTextAreaElement>("embedded");
    shown.hidden = false;
    shown.value = code;
    shown.select();
  }

  private async share(): Promise<void> {
    const state = { preset: this.preset.id, sides: this.sides, seed: this.seed, seeds: this.seeds };
    history.replaceState(null, "", `#s=${await toLink(state)}`);
    let said = "the address of this page has it now";
    try {
      await navigator.clipboard.writeText(location.href);
      said = "the link is in the clipboard";
    } catch {
      // A page that was opened as a file may not write to the clipboard.
    }
    get("status").textContent = said;
  }

  private async download(i: 0 | 1): Promise<void> {
    const file = `${NAMES[i]}.toml`;
    try {
      const { toml } = await this.labs[i].ask<"toml">({ kind: "toml", table: copy(this.sides[i].table), file });
      const about = `# From Sojourn's playground. Run it with: sojourn run ${file} --seed ${this.seed}\n`;
      const link = element("a", { href: URL.createObjectURL(new Blob([about + toml], { type: "application/toml" })), download: file });
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (caught) {
      if (!(caught instanceof Replaced)) get(`error-${NAMES[i].toLowerCase()}`).textContent = caught instanceof Error ? caught.message : String(caught);
    }
  }

  /** For tests, and for the console. */
  shown(): (Result | undefined)[] {
    return this.results;
  }

  timing(): { answered: number; drawing: number; drawn: number; first: number } {
    return { ...this.spent, first: this.first };
  }

  /** The state in an address, if any. */
  async fromAddress(): Promise<void> {
    const hash = location.hash.slice(1);
    get("error-link").textContent = "";
    const own = document.documentElement.dataset["story"];
    const preset = PRESETS.find((each) => each.id === hash) ?? (hash ? undefined : PRESETS.find((each) => each.id === own));
    if (preset || !hash.startsWith("s=")) return this.open(preset ?? PRESETS[0]!);
    try {
      const state = await fromLink(hash.slice(2));
      const sides = state?.sides;
      const fine = Array.isArray(sides) && sides.length === 2 && sides.every((side) => isTable(side) && isTable(side["table"]));
      if (!fine) throw new Error("link: expected two scenarios, got something else");
      const whole = (number: unknown, otherwise: number) => (Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : otherwise);
      const read = sides.map((side) => ({ label: String(side.label ?? "").slice(0, 40), table: side.table as Table })) as [Side, Side];
      const known = PRESETS.find((each) => each.id === state.preset) ?? PRESETS[0]!;
      this.open(known, { sides: read, seed: whole(state.seed, 1), seeds: Math.min(10, Math.max(1, whole(state.seeds, 1))) });
    } catch (caught) {
      this.open(PRESETS[0]!);
      get("error-link").textContent = caught instanceof Error ? caught.message : String(caught);
    }
  }
}

async function start(): Promise<void> {
  // It is compiled while it is decompressed.
  const engine = new Blob([bytesOf(ENGINE) as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await WebAssembly.compileStreaming(new Response(engine, { headers: { "Content-Type": "application/wasm" } }));
  const labs: [Lab, Lab] = [new Lab(module), new Lab(module)];
  const page = new Page(labs, new Schema(SCHEMA));
  Object.assign(window, { sojourn: { results: () => page.shown(), timing: () => page.timing() } });
  await page.fromAddress();
  addEventListener("hashchange", () => void page.fromAddress());
}

start().catch((error: unknown) => {
  get("status").textContent = `The engine failed to start: ${error instanceof Error ? error.message : String(error)}`;
});
