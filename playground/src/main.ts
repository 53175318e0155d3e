// The page: two scenarios, A and B. Both are run with the same seeds when one of them changes.

import { Chart, restyled, type Mark } from "./charts";
import { Panels, type Side } from "./panels";
import { choice, element } from "./controls";
import { Lab, Replaced } from "./lab";
import { Picture } from "./surface";
import { Schema } from "./schema";
import { bytesOf, fromLink, inflate, toLink } from "./share";
import { copy, isTable } from "./tree";
import { fill, value, type Row } from "./results";
import { margins, why } from "./words";
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
}

const NAMES = ["A", "B"] as const;
/** Time in ms without slider input before laws and further seeds are computed. */
const REST = 150;
/** Time in ms for which a result waits for the other side's, so that both are drawn together. */
const TOGETHER = 40;
const get = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

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
  private time = 0;
  private playing = false;
  private readonly panels: Panels;
  private readonly pictures: [Picture, Picture] = [new Picture(get("surface-a"), 0), new Picture(get("surface-b"), 1)];
  private readonly charts = {
    delay: new Chart(get("delay"), { x: "time (s)", y: "queuing delay (ms)" }),
    windows: new Chart(get("windows"), { x: "time (s)", y: "window (segments)" }),
    cdf: new Chart(get("cdf"), { x: "queuing delay (ms)", y: "packets with less (%)" }),
    shares: new Chart(get("shares"), { x: "flow, in the order of goodput", y: "goodput (Mbit/s)" }),
    probability: new Chart(get("probability"), { x: "time (s)", y: "probability (%)" }),
    signals: new Chart(get("signals"), { x: "time (s)", y: "packets a second" }),
    gain: new Chart(get("gain"), { x: "frequency (rad/s)", y: "gain (dB)", logarithmic: true }),
    phase: new Chart(get("phase"), { x: "frequency (rad/s)", y: "phase (degrees)", logarithmic: true }),
  };

  constructor(private readonly labs: [Lab, Lab], schema: Schema) {
    this.panels = new Panels(schema, () => this.changed(), () => {
      this.controls();
      this.changed();
    });
    this.top();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
  }

  /** The presets, seeds and controls of the whole page. */
  private top(): void {
    const presets = PRESETS.map((preset) => ({ value: preset.id, label: preset.title }));
    get("presets").replaceChildren(choice("experiment", presets, this.preset.id, (id) => {
      history.replaceState(null, "", `#${id}`);
      this.open(PRESETS.find((preset) => preset.id === id)!);
    }));
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
    const time = get<HTMLInputElement>("time");
    time.oninput = () => this.move(Number(time.value) / 1000);
    get("play").onclick = () => this.play(!this.playing);
    for (const chart of this.overTime()) {
      chart.onclick = (x) => {
        this.move(x / (this.results[0]?.record.duration_s ?? 1));
        this.explain(0);
        this.explain(1);
      };
    }
    NAMES.forEach((name, i) => (get(`next-${name.toLowerCase()}`).onclick = () => this.next(i as 0 | 1)));
  }

  private overTime(): Chart[] {
    return [this.charts.delay, this.charts.windows, this.charts.signals, this.charts.probability];
  }

  /** Explains the first drop or mark from the current time on. */
  private explain(i: 0 | 1): void {
    const result = this.results[i];
    if (!result) return;
    const { t } = result.signals, from = this.time * result.record.duration_s;
    const found = t.findIndex((at) => at >= from);
    const said = found >= 0 ? why(result, found, Panels.queue(this.sides[i])) : "no packet is dropped or marked from here on.";
    get(`why-${NAMES[i].toLowerCase()}`).textContent = `${NAMES[i]}: ${said}`;
  }

  /** Moves to the next drop or mark and explains it. */
  private next(i: 0 | 1): void {
    const result = this.results[i];
    if (!result) return;
    const now = this.time * result.record.duration_s;
    const at = result.signals.t.find((at) => at > now + 1e-6);
    if (at !== undefined) this.move(at / result.record.duration_s);
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
    this.controls();
    this.changed();
  }

  private controls(): void {
    const open = [...document.querySelectorAll<HTMLDetailsElement>("#controls details")].map((each) => each.open);
    get("network").replaceChildren(this.panels.network(this.sides));
    NAMES.forEach((name, i) => get(`side-${name.toLowerCase()}`).replaceChildren(this.panels.side(this.sides[i]!)));
    document.querySelectorAll<HTMLDetailsElement>("#controls details").forEach((each, i) => (each.open = open[i] ?? false));
  }

  /** Runs both again. The page shows the old results until new ones arrive. */
  changed(): void {
    const turn = ++this.turn;
    this.spent = { begin: performance.now(), answered: 0, drawing: 0, drawn: 0 };
    get("status").textContent = "running";
    const done = NAMES.map((name, i) => this.run(i as 0 | 1, `${name}.toml`, turn));
    void Promise.all(done).then(() => requestAnimationFrame(() => {
      if (turn !== this.turn) return;
      const failed = document.querySelectorAll("fieldset .error:not(:empty)").length > 0;
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
        if (due.has("laws")) this.drawLaws();
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
    const error = get(`error-${side}`), warnings = get(`warnings-${side}`);
    const ask = { table: copy(this.sides[i].table), file, link: Panels.watched(this.sides[i].table), seed: this.seed };
    const asked = JSON.stringify(ask);
    try {
      if (asked !== this.asked.results[i]) {
        this.results[i] = await lab.ask<"run">({ kind: "run", ...ask });
        this.asked.results[i] = asked;
      }
      const result = this.results[i]!;
      error.textContent = "";
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
      error.textContent = caught instanceof Error ? caught.message : String(caught);
      warnings.textContent = "";
    }
  }

  private both(): [Result, Result] | undefined {
    const [a, b] = this.results;
    return a && b ? [a, b] : undefined;
  }

  private table(): void {
    const results = this.both();
    if (results) fill(get<HTMLTableElement>("results").tBodies[0]!, this.preset.measures, results);
  }

  /** The paper's published values of a measure with this path suffix, as horizontal lines; times as vertical lines. */
  private printed(path: RegExp, unit: string): Mark[] {
    const rows = this.preset.measures.filter((row) => row.unit === unit && path.test(row.path));
    return rows.flatMap((row) => row.printed.flatMap((number, i): Mark[] => {
      if (number === null) return [];
      const label = `${NAMES[i]} as printed`;
      return [row.path ? { y: number, side: i as 0 | 1, label } : { x: number, side: i as 0 | 1, label: `${row.label}, as printed` }];
    }));
  }

  private draw(): void {
    const results = this.both();
    if (!results) return;
    const lines = <T>(of: (result: Result, side: 0 | 1) => T) => results.map((result, i) => of(result, i as 0 | 1));
    const name = (side: 0 | 1) => `${NAMES[side]}: ${this.sides[side].label}`;
    // The value is in the paper's unit.
    const packets = this.printed(/\.queue\.mean$/, "packets"), inPackets = packets.length > 0;
    this.charts.delay.draw(
      lines((result, side) => ({
        label: name(side), side, thin: true, x: result.queue.t,
        y: inPackets ? result.queue.packets : result.queue.delay.map((s) => 1000 * s),
      })),
      inPackets ? packets : this.printed(/wait_ms\.mean$/, "ms"), inPackets ? "queue (packets)" : "queuing delay (ms)");
    get("delay-caption").textContent = inPackets ? "Queue" : "Queuing delay";
    this.charts.windows.draw(
      lines((result, side) => result.windows.map((each) => ({ label: `${name(side)}, ${each.flow}`, side, x: each.t, y: each.packets, thin: true }))).flat(),
      this.printed(/^$/, "s"));
    this.charts.cdf.draw(lines((result, side) => ({ label: name(side), side, x: result.cdf.ms, y: result.cdf.part.map((part) => 100 * part) })));
    this.charts.shares.draw(lines((result, side) => {
      const goodputs: number[] = result.record.flows.map((flow: any) => flow.goodput_bps / 1e6);
      goodputs.sort((a, b) => b - a);
      return { label: name(side), side, x: goodputs.map((_, rank) => rank + 1), y: goodputs };
    }));
    this.charts.signals.draw(lines((result, side) => ({ label: name(side), side, ...rate(result) })));
    this.charts.probability.draw(lines((result, side) => ({
      label: name(side), side, thin: true, x: result.queue.t, y: result.queue.probability.map((p) => 100 * p),
    })));
    this.hide("probability", !results.some((result) => result.queue.probability.some(Number.isFinite)));
    this.table();
    this.describe(results);
    this.move(this.time);
  }

  /** Hides the figure of an empty chart. */
  private hide(id: string, hidden: boolean): void {
    get(id).closest("figure")!.hidden = hidden;
  }

  /** Text descriptions of the charts. */
  private describe(results: [Result, Result]): void {
    const of = (path: string, unit: string, scale = 1) => results.map((result, i) => {
      const number = value(result.record, path.replace("LINK", result.link)) * scale;
      return `${NAMES[i]} ${Number.isFinite(number) ? Number(number.toPrecision(3)) : "none"} ${unit}`;
    }).join(", ");
    const say = (id: string, text: string) => get(id).setAttribute("aria-label", text);
    say("delay", `Queuing delay over time. Mean: ${of("links.LINK.wait_ms.mean", "ms")}.`);
    say("cdf", `Distribution of the queuing delay. Median: ${of("links.LINK.wait_ms.p50", "ms")}; 99 %: ${of("links.LINK.wait_ms.p99", "ms")}.`);
    say("windows", `Congestion windows of the first flows over time: ${results.map((result, i) => `${NAMES[i]} ${result.windows.length}`).join(", ")}.`);
    say("shares", `Goodput of each flow. Jain's index: ${of("total.jain", "")}.`);
    say("signals", `Drops and marks in each second. Dropped: ${of("links.LINK.dropped_total", "packets")}; marked: ${of("links.LINK.marked", "packets")}.`);
    say("probability", `Probability of the discipline over time. Mean: ${of("links.LINK.probability_mean", "%", 100)}.`);
  }

  private drawLaws(): void {
    const found = this.laws.flatMap((law, i) => (law?.stability.bode ? [{ bode: law.stability.bode, side: i as 0 | 1 }] : []));
    const bode = (of: "gain" | "phase") => found.map(({ bode, side }) => ({ label: `${NAMES[side]}`, side, x: bode.omega, y: bode[of] }));
    for (const id of ["gain", "phase"]) this.hide(id, found.length === 0);
    this.charts.gain.draw(bode("gain"), [{ y: 0, side: 0, label: "" }]);
    this.charts.phase.draw(bode("phase"), [{ y: -180, side: 0, label: "" }]);
    NAMES.forEach((name, i) => {
      const law = this.laws[i];
      const words = law ? [margins(law.stability), ...(law.stability.notes ?? []).map((note) => `(${note}.)`)].join(" ") : "";
      get(`margins-${name.toLowerCase()}`).textContent = `${name}: ${words}`;
      this.hide(`surface-${name.toLowerCase()}`, !law?.surface);
      this.pictures[i as 0 | 1].show(law?.surface ?? null);
    });
    const says = [get("margins-a").textContent, get("margins-b").textContent].join(" ");
    for (const id of ["gain", "phase"]) get(id).setAttribute("aria-label", `${id} of the open loop over frequency. ${says}`);
    this.point();
  }

  /** Moves the operating point to a fraction of the run, from 0 to 1. */
  private move(part: number): void {
    this.time = Math.min(1, Math.max(0, part));
    const results = this.both();
    if (!results) return;
    const seconds = this.time * results[0].record.duration_s;
    get<HTMLInputElement>("time").value = String(Math.round(1000 * this.time));
    get("clock").textContent = `${seconds.toFixed(1)} s`;
    for (const chart of this.overTime()) chart.at(seconds);
    this.point();
  }

  /** Draws the laws with the operating points at the current time. */
  private point(): void {
    this.both()?.forEach((result, i) => this.pictures[i as 0 | 1].draw(result, this.time * result.record.duration_s));
  }

  private play(on: boolean): void {
    this.playing = on;
    get("play").textContent = on ? "pause" : "play";
    get("play").setAttribute("aria-pressed", String(on));
    let last = performance.now();
    const step = (now: number) => {
      if (!this.playing) return;
      this.move((this.time + (now - last) / 20_000) % 1);
      last = now;
      requestAnimationFrame(step);
    };
    if (on) requestAnimationFrame(step);
  }

  private restyle(): void {
    restyled();
    Object.values(this.charts).forEach((chart) => chart.restyle());
    this.move(this.time);
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
      if (!(caught instanceof Replaced)) get(`error-${NAMES[i].toLowerCase()}`).textContent = String(caught);
    }
  }

  /** For tests, and for the console. */
  shown(): (Result | undefined)[] {
    return this.results;
  }

  timing(): { answered: number; drawing: number; drawn: number } {
    return { ...this.spent };
  }

  /** The state in an address, if any. */
  async fromAddress(): Promise<void> {
    const hash = location.hash.slice(1);
    get("error-link").textContent = "";
    const preset = PRESETS.find((each) => each.id === hash);
    if (preset || !hash.startsWith("s=")) return this.open(preset ?? PRESETS[0]!);
    try {
      const state = await fromLink(hash.slice(2));
      const sides = state?.sides;
      const fine = Array.isArray(sides) && sides.length === 2 && sides.every((side) => isTable(side) && isTable(side["table"]));
      if (!fine) throw new Error("link: expected two scenarios, got something else");
      const whole = (number: unknown, otherwise: number) => (Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : otherwise);
      const own = sides.map((side) => ({ label: String(side.label ?? "").slice(0, 40), table: side.table as Table })) as [Side, Side];
      const known = PRESETS.find((each) => each.id === state.preset) ?? PRESETS[0]!;
      this.open(known, { sides: own, seed: whole(state.seed, 1), seeds: Math.min(10, Math.max(1, whole(state.seeds, 1))) });
    } catch (caught) {
      this.open(PRESETS[0]!);
      get("error-link").textContent = caught instanceof Error ? caught.message : String(caught);
    }
  }
}

/** Drops and marks per second, for each hundredth of the run. */
function rate({ signals, record }: Result): { x: number[]; y: number[] } {
  const parts = 100, span = record.duration_s / parts;
  const y = new Array<number>(parts).fill(0);
  for (const at of signals.t) y[Math.min(parts - 1, Math.floor(at / span))]! += 1 / span;
  return { x: y.map((_, part) => (part + 0.5) * span), y };
}

async function start(): Promise<void> {
  const module = await WebAssembly.compile((await inflate(bytesOf(ENGINE), 20_000_000)) as BufferSource);
  const labs: [Lab, Lab] = [new Lab(module), new Lab(module)];
  const page = new Page(labs, new Schema(SCHEMA));
  Object.assign(window, { sojourn: { results: () => page.shown(), timing: () => page.timing() } });
  await page.fromAddress();
  addEventListener("hashchange", () => void page.fromAddress());
}

start().catch((error: unknown) => {
  get("status").textContent = `The engine failed to start: ${error instanceof Error ? error.message : String(error)}`;
});
