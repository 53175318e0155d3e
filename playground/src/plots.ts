// The charts of both results, their text descriptions, and the laws.

import { Chart, type Mark } from "./charts";
import type { Side } from "./panels";
import type { Replies, Result } from "./protocol";
import { value, type Row } from "./results";
import { Picture } from "./surface";
import { margins } from "./words";

export const NAMES = ["A", "B"] as const;
export const get = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

type Law = Replies["law"] | undefined;

export class Plots {
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

  /** Charts over time, on which a click moves to a time in s. */
  onclick(move: (seconds: number) => void): void {
    for (const chart of this.overTime()) chart.onclick = move;
  }

  private overTime(): Chart[] {
    return [this.charts.delay, this.charts.windows, this.charts.signals, this.charts.probability];
  }

  draw(results: [Result, Result], sides: [Side, Side], measures: Row[]): void {
    const lines = <T>(of: (result: Result, side: 0 | 1) => T) => results.map((result, i) => of(result, i as 0 | 1));
    const name = (side: 0 | 1) => `${NAMES[side]}: ${sides[side].label}`;
    // The value is in the paper's unit.
    const packets = printed(measures, /\.queue\.mean$/, "packets"), inPackets = packets.length > 0;
    this.charts.delay.draw(
      lines((result, side) => ({
        label: name(side), side, thin: true, x: result.queue.t,
        y: inPackets ? result.queue.packets : result.queue.delay.map((s) => 1000 * s),
      })),
      inPackets ? packets : printed(measures, /wait_ms\.mean$/, "ms"), inPackets ? "queue (packets)" : "queuing delay (ms)");
    get("delay-caption").textContent = inPackets ? "Queue" : "Queuing delay";
    this.charts.windows.draw(
      lines((result, side) => result.windows.map((each) => ({ label: `${name(side)}, ${each.flow}`, side, x: each.t, y: each.packets, thin: true }))).flat(),
      printed(measures, /^$/, "s"));
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
    hide("probability", !results.some((result) => result.queue.probability.some(Number.isFinite)));
    describe(results);
  }

  drawLaws(laws: Law[]): void {
    const found = laws.flatMap((law, i) => (law?.stability.bode ? [{ bode: law.stability.bode, side: i as 0 | 1 }] : []));
    const bode = (of: "gain" | "phase") => found.map(({ bode, side }) => ({ label: `${NAMES[side]}`, side, x: bode.omega, y: bode[of] }));
    for (const id of ["gain", "phase"]) hide(id, found.length === 0);
    this.charts.gain.draw(bode("gain"), [{ y: 0, side: 0, label: "" }]);
    this.charts.phase.draw(bode("phase"), [{ y: -180, side: 0, label: "" }]);
    NAMES.forEach((name, i) => {
      const law = laws[i];
      const words = law ? [margins(law.stability), ...(law.stability.notes ?? []).map((note) => `(${note}.)`)].join(" ") : "";
      get(`margins-${name.toLowerCase()}`).textContent = `${name}: ${words}`;
      hide(`surface-${name.toLowerCase()}`, !law?.surface);
      this.pictures[i as 0 | 1].show(law?.surface ?? null);
    });
    const says = [get("margins-a").textContent, get("margins-b").textContent].join(" ");
    for (const id of ["gain", "phase"]) get(id).setAttribute("aria-label", `${id} of the open loop over frequency. ${says}`);
  }

  /** Moves the line of the charts over time, and the operating points of the laws. */
  at(seconds: number, results: [Result, Result]): void {
    for (const chart of this.overTime()) chart.at(seconds);
    results.forEach((result, i) => this.pictures[i as 0 | 1].draw(result, seconds));
  }

  restyle(): void {
    Object.values(this.charts).forEach((chart) => chart.restyle());
  }
}

/** Hides the figure of an empty chart. */
function hide(id: string, hidden: boolean): void {
  get(id).closest("figure")!.hidden = hidden;
}

/** The paper's published values of a measure with this path suffix, as horizontal lines; times as vertical lines. */
function printed(measures: Row[], path: RegExp, unit: string): Mark[] {
  const rows = measures.filter((row) => row.unit === unit && path.test(row.path));
  return rows.flatMap((row) => row.printed.flatMap((number, i): Mark[] => {
    if (number === null) return [];
    const label = `${NAMES[i]} as printed`;
    return [row.path ? { y: number, side: i as 0 | 1, label } : { x: number, side: i as 0 | 1, label: `${row.label}, as printed` }];
  }));
}

/** Text descriptions of the charts. */
function describe(results: [Result, Result]): void {
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

/** Drops and marks per second, for each hundredth of the run. */
function rate({ signals, record }: Result): { x: number[]; y: number[] } {
  const parts = 100, span = record.duration_s / parts;
  const y = new Array<number>(parts).fill(0);
  for (const at of signals.t) y[Math.min(parts - 1, Math.floor(at / span))]! += 1 / span;
  return { x: y.map((_, part) => (part + 0.5) * span), y };
}
