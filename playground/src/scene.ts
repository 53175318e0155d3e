// A bottleneck with its packets in motion: sources with their windows, the queue, the link, drops and marks. Every packet that is drawn is
// one of the run, in the queue exactly from its arrival until its transmission; the ways to the queue and from it are shortened.

import { color, css } from "./charts";
import type { Result } from "./protocol";

/** Time in s of the viewer from a source to the queue, and from the queue out of the picture. */
const WAY_IN = 0.7, WAY_OUT = 0.9;
/** Time in s of the viewer for which a drop or a mark is shown. */
const SIGNAL = 0.8;
/** The number of sources that are drawn, and the distance in pixels of packets of a flow on the ways: one of 1, 2, 4 ... is drawn. */
const SOURCES = 6, APART = 11;
/** Colors of flows that color-blind people distinguish (Okabe and Ito 2008); the shape repeats the color. */
const FLOWS = ["--flow-0", "--flow-1", "--flow-2", "--flow-3"];
const MARKED = 4;

/** The number of increasing times that are not after `time`. */
export function until(times: Float64Array, time: number): number {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** One shape for each flow, so that color is not the only difference. */
function glyph(ctx: CanvasRenderingContext2D, flow: number, x: number, y: number, size: number): void {
  const r = size / 2;
  ctx.beginPath();
  if (flow % 4 === 0) ctx.rect(x - r, y - r, size, size);
  else if (flow % 4 === 1) ctx.arc(x, y, r, 0, 2 * Math.PI);
  else if (flow % 4 === 2) [ctx.moveTo(x, y - r), ctx.lineTo(x + r, y + r), ctx.lineTo(x - r, y + r)];
  else [ctx.moveTo(x, y - r), ctx.lineTo(x + r, y), ctx.lineTo(x, y + r), ctx.lineTo(x - r, y)];
  ctx.fill();
}

/** The packets of a result, in the order of arrival, with the longest wait. */
interface Packets {
  t: Float64Array;
  wait: Float64Array;
  flow: Float64Array;
  longest: number;
  /** The time of each departure, increasing, with its packet. */
  left: Float64Array;
  order: Uint32Array;
  /** The number of each packet among those of its flow. */
  number: Uint32Array;
}

// Plain loops: a run has tens of thousands of packets, and each callback or iterator costs more than its work.
function packets({ packets: { t, wait, flow } }: Result): Packets {
  const left = new Float64Array(t.length), order = new Uint32Array(t.length), number = new Uint32Array(t.length), sent: number[] = [];
  let longest = 0, fifo = true;
  for (let i = 0; i < t.length; i++) {
    const of = flow[i]!;
    longest = Math.max(longest, wait[i]!);
    left[i] = t[i]! + wait[i]!;
    order[i] = i;
    fifo &&= i === 0 || left[i]! >= left[i - 1]!;
    number[i] = sent[of] ?? 0;
    sent[of] = number[i]! + 1;
  }
  // The packets of a FIFO leave in the order of arrival.
  if (!fifo) {
    order.sort((a, b) => left[a]! - left[b]!);
    left.sort();
  }
  return { t, wait, flow, longest, order, left, number };
}

interface Places {
  source: number;
  enter: number;
  leave: number;
  middle: number;
  height: number;
  width: number;
}

export class Scene {
  private result: Result | undefined;
  private packets: Packets | undefined;
  private waiting = 0;
  /** The largest window, and the longest queue. */
  private most = { window: 1, queue: 16 };
  private width = 0;
  private height = 0;
  /** Whether the queue is hidden, while its reader predicts it. */
  veiled = false;
  private last: [number, number] = [0, 1];

  constructor(private readonly canvas: HTMLCanvasElement, private readonly side: 0 | 1) {
    new ResizeObserver(([entry]) => {
      [this.width, this.height] = [Math.round(entry!.contentRect.width), Math.round(entry!.contentRect.height)];
      this.draw(...this.last);
    }).observe(canvas);
  }

  show(result: Result): void {
    [this.result, this.packets] = [result, packets(result)];
    const largest = (of: Float64Array, least: number) => of.reduce((most, value) => Math.max(most, value), least);
    this.most = { window: result.windows.reduce((most, each) => largest(each.packets, most), 1), queue: largest(result.queue.packets, 16) };
  }

  /** Draws the run at a time in s, if a second of the viewer is `pace` seconds of the run. */
  draw(time: number, pace: number): void {
    this.last = [time, pace];
    const { canvas, result, packets, width, height } = this, ctx = canvas.getContext("2d"), scale = devicePixelRatio;
    if (!ctx || !result || !packets || width === 0) return;
    if (canvas.width !== width * scale || canvas.height !== height * scale) [canvas.width, canvas.height] = [width * scale, height * scale];
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.font = "12px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    const source = Math.min(110, width * 0.24);
    const at: Places = { source, enter: source + (width - source) * 0.2, leave: width * 0.76, middle: height * 0.46, height: height * 0.62, width };
    this.pipes(ctx, at);
    this.sources(ctx, at, time);
    this.onWays(ctx, at, time, pace);
    if (this.veiled) this.veil(ctx, at);
    else {
      this.queue(ctx, at, time);
      this.signals(ctx, at, time, pace);
      this.words(ctx, at, time);
    }
  }

  private pipes(ctx: CanvasRenderingContext2D, { source, enter, leave, middle, height, width }: Places): void {
    ctx.fillStyle = css("--grid");
    ctx.fillRect(source, middle - 1, enter - source, 2);
    ctx.fillRect(leave, middle - 5, width - leave, 10);
    [ctx.strokeStyle, ctx.lineWidth] = [color(this.side), 2];
    ctx.strokeRect(enter, middle - height / 2, leave - enter, height);
    ctx.fillStyle = color(this.side);
    ctx.fillRect(leave - 2, middle - 9, 5, 18);
  }

  /** The y coordinate of a flow's source. */
  private row(flow: number, { middle, height }: Places): number {
    const shown = Math.min(SOURCES, this.result!.record.flows.length);
    return middle + ((flow % shown) - (shown - 1) / 2) * Math.min(24, height / shown);
  }

  private sources(ctx: CanvasRenderingContext2D, at: Places, time: number): void {
    const { record, windows } = this.result!, flows: any[] = record.flows;
    const counts = new Map(record.groups.map((group: any) => [group.name, group.flows]));
    for (let i = 0; i < Math.min(SOURCES, flows.length); i++) {
      const y = this.row(i, at), [group, number] = String(flows[i].name).split("/");
      const name = counts.get(group) === 1 ? group! : `${group} ${Number(number) + 1}`;
      ctx.fillStyle = css(FLOWS[i % FLOWS.length]!);
      glyph(ctx, i, 8, y, 9);
      const found = windows.find((each) => each.flow === flows[i].name);
      const window = found?.packets[Math.max(0, until(found.t, time) - 1)];
      if (window !== undefined && Number.isFinite(window)) {
        ctx.globalAlpha = 0.35;
        ctx.fillRect(18, y - 8, Math.max(1, (at.source - 22) * window / this.most.window), 16);
        ctx.globalAlpha = 1;
      }
      ctx.fillStyle = css("--text");
      ctx.textAlign = "left";
      const words = window === undefined || !Number.isFinite(window) ? name : `${name}: ${Math.round(window)}`;
      ctx.fillText(words, 20, y, at.source - 22);
    }
  }

  private onWays(ctx: CanvasRenderingContext2D, at: Places, time: number, pace: number): void {
    const { t, flow, left, order, number } = this.packets!;
    const some = (from: number, to: number, length: number, draw: (i: number, k: number) => void, of: (k: number) => number = (k) => k) => {
      const counts = new Map<number, number>();
      for (let k = from; k < to; k++) counts.set(flow[of(k)]!, (counts.get(flow[of(k)]!) ?? 0) + 1);
      const steps = new Map([...counts].map(([each, count]) => [each, 2 ** Math.max(0, Math.ceil(Math.log2((count * APART) / length)))]));
      for (let k = from; k < to; k++) if (number[of(k)]! % steps.get(flow[of(k)]!)! === 0) draw(of(k), k);
    };
    some(until(t, time), until(t, time + WAY_IN * pace), at.enter - at.source, (i) => {
      const part = 1 - (t[i]! - time) / (WAY_IN * pace), y = this.row(flow[i]!, at);
      this.packet(ctx, flow[i]!, at.source + part * (at.enter - at.source), y + (at.middle - y) * Math.max(0, 2 * part - 1), 7);
    });
    some(until(left, time - WAY_OUT * pace), until(left, time), at.width - at.leave, (i, k) => {
      const part = (time - left[k]!) / (WAY_OUT * pace);
      this.packet(ctx, flow[i]!, at.leave + part * (at.width - at.leave), at.middle, 7);
    }, (k) => order[k]!);
  }

  private packet(ctx: CanvasRenderingContext2D, flow: number, x: number, y: number, size: number): void {
    ctx.fillStyle = css(FLOWS[flow % FLOWS.length]!);
    glyph(ctx, flow, x, y, size);
  }

  /** The packets that wait, the next one to leave at the right. */
  private queue(ctx: CanvasRenderingContext2D, at: Places, time: number): void {
    const { t, wait, flow, longest } = this.packets!;
    const waiting: number[] = [];
    for (let i = until(t, time) - 1; i >= 0 && t[i]! >= time - longest; i--) if (t[i]! + wait[i]! > time) waiting.push(i);
    waiting.sort((a, b) => t[a]! + wait[a]! - t[b]! - wait[b]!);
    this.waiting = waiting.length;
    const cell = this.cell(at), rows = Math.max(1, Math.floor((at.height - 4) / cell));
    waiting.forEach((i, place) => {
      const x = at.leave - (Math.floor(place / rows) + 0.5) * cell - 4;
      if (x < at.enter + cell / 2) return;
      this.packet(ctx, flow[i]!, x, at.middle + ((place % rows) - (rows - 1) / 2) * cell, Math.max(2, cell - 1.5));
    });
  }

  /** The size of a packet in the queue, so that the longest queue fits. */
  private cell({ enter, leave, height }: Places): number {
    return Math.max(3, Math.min(12, Math.sqrt((0.85 * (leave - enter) * height) / this.most.queue)));
  }

  private signals(ctx: CanvasRenderingContext2D, at: Places, time: number, pace: number): void {
    const { t, cause } = this.result!.signals, first = until(t, time - SIGNAL * pace), end = until(t, time);
    for (let i = Math.max(first, end - 40); i < end; i++) {
      const part = (time - t[i]!) / (SIGNAL * pace), x = at.enter - 10 - 14 * ((i % 5) / 4);
      ctx.globalAlpha = 1 - part * part;
      [ctx.strokeStyle, ctx.lineWidth] = [css(cause[i] === MARKED ? "--mark" : "--drop"), 2.5];
      ctx.beginPath();
      if (cause[i] === MARKED) {
        ctx.arc(x, at.middle - 8 - part * at.height * 0.4, 5, 0, 2 * Math.PI);
      } else {
        const y = at.middle + 8 + part * part * at.height * 0.6;
        [ctx.moveTo(x - 5, y - 5), ctx.lineTo(x + 5, y + 5), ctx.moveTo(x - 5, y + 5), ctx.lineTo(x + 5, y - 5)];
      }
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
  }

  /** The length of the queue in packets and its delay in ms: of the packets, or of the last sample if only some packets are known. */
  private now(time: number): [number, number] {
    const { queue, record, link } = this.result!, { left } = this.packets!, sample = Math.max(0, until(queue.t, time) - 1);
    const departed: number = record.links.find((each: any) => each.name === link)?.departed ?? 0;
    return [left.length < 0.5 * departed ? queue.packets[sample]! : this.waiting, 1000 * queue.delay[sample]!];
  }

  private words(ctx: CanvasRenderingContext2D, at: Places, time: number): void {
    const { signals } = this.result!, now = until(signals.t, time), [length, ms] = this.now(time);
    let marks = 0;
    for (let i = 0; i < now; i++) if (signals.cause[i] === MARKED) marks++;
    ctx.fillStyle = css("--text");
    ctx.textAlign = "left";
    const y = at.middle + at.height / 2 + 12;
    ctx.fillText(`queue ${Math.round(length)} packets, ${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`, at.enter, y);
    ctx.fillText([`drops ${now - marks}`, ...(marks ? [`marks ${marks}`] : [])].join(", "), 8, y, at.enter - 16);
  }

  private veil(ctx: CanvasRenderingContext2D, { enter, leave, middle, height }: Places): void {
    ctx.fillStyle = css("--panel");
    ctx.fillRect(enter + 1, middle - height / 2 + 1, leave - enter - 4, height - 2);
    ctx.fillStyle = css("--soft");
    ctx.textAlign = "center";
    ctx.font = "600 30px system-ui, sans-serif";
    ctx.fillText("?", (enter + leave) / 2, middle);
  }
}

/** The least and the largest value in each of `width` equal parts of a run; a part without samples has those of the part before. */
export function columns(t: Float64Array, values: Float64Array, duration: number, width: number): { least: Float64Array; most: Float64Array } {
  const least = new Float64Array(width).fill(Infinity), most = new Float64Array(width).fill(-Infinity);
  for (let i = 0; i < t.length; i++) {
    const x = Math.min(width - 1, Math.floor((t[i]! / duration) * width)), value = values[i]!;
    if (value < least[x]!) least[x] = value;
    if (value > most[x]!) most[x] = value;
  }
  for (let x = 1; x < width; x++) if (least[x] === Infinity) [least[x], most[x]] = [least[x - 1]!, most[x - 1]!];
  return { least, most };
}

/** The queuing delay of both over the whole run, with the time: where a reader looks for something to see. */
export class Strip {
  private results: [Result, Result] | undefined;
  private time = 0;
  private most = 1e-6;
  private size = { width: 0, height: 0 };
  /** The curves, which stay while the time moves. */
  private readonly curves = document.createElement("canvas");
  private stale = true;
  private hidden = false;

  constructor(private readonly canvas: HTMLCanvasElement, moved: (part: number) => void) {
    new ResizeObserver(([entry]) => {
      this.size = { width: Math.round(entry!.contentRect.width), height: Math.round(entry!.contentRect.height) };
      this.restyle();
      this.paint();
    }).observe(canvas);
    const move = (event: PointerEvent) => moved(event.offsetX / Math.max(1, this.size.width));
    canvas.onpointerdown = (event) => {
      canvas.setPointerCapture(event.pointerId);
      move(event);
    };
    canvas.onpointermove = (event) => event.buttons > 0 && move(event);
  }

  show(results: [Result, Result]): void {
    this.results = results;
    this.most = Math.max(...results.map(({ queue }) => queue.delay.reduce((most, value) => Math.max(most, value), 1e-6)));
    this.restyle();
  }

  set veiled(hidden: boolean) {
    this.hidden = hidden;
    this.restyle();
  }

  /** Draws the curves again with the next time. */
  restyle(): void {
    this.stale = true;
  }

  /** What the curve is, for a reader who may know it. */
  words(): string {
    return this.hidden ? "" : `The curves are the delay in the queue, up to ${Math.round(1000 * this.most)} ms; ticks are drops and marks. `;
  }

  at(time: number): void {
    this.time = time;
    this.paint();
  }

  private paint(): void {
    const { canvas, results, size: { width, height } } = this, scale = devicePixelRatio;
    const [full, high] = [Math.round(width * scale), Math.round(height * scale)];
    if (!results || full === 0 || high === 0) return;
    for (const each of [canvas, this.curves]) {
      if (each.width === full && each.height === high) continue;
      [each.width, each.height] = [full, high];
      this.stale = true;
    }
    const ctx = canvas.getContext("2d");
    if (!ctx) return;
    if (this.stale) this.draw(results);
    this.stale = false;
    ctx.clearRect(0, 0, full, high);
    ctx.drawImage(this.curves, 0, 0);
    ctx.fillStyle = css("--text");
    ctx.fillRect((this.time / results[0].record.duration_s) * full - scale, 0, 2 * scale, high);
  }

  /** Draws the curves, one bar for each column of pixels. A browser needs longer to fill a path of a thousand points. */
  private draw(results: [Result, Result]): void {
    const { curves } = this, ctx = curves.getContext("2d"), { width, height } = curves, scale = devicePixelRatio;
    if (!ctx) return;
    ctx.clearRect(0, 0, width, height);
    if (this.hidden) return;
    const duration: number = results[0].record.duration_s, thick = 1.5 * scale;
    const y = (delay: number) => height - 3 * scale - (delay / this.most) * (height - 18 * scale);
    results.forEach(({ queue, signals }, side) => {
      ctx.fillStyle = color(side as 0 | 1);
      const { least, most } = columns(queue.t, queue.delay, duration, width);
      for (let x = 0; x < width; x++) {
        // B is dashed.
        if (side === 1 && Math.floor(x / scale) % 8 >= 5) continue;
        const before = Math.max(0, x - 1), top = y(Math.max(most[x]!, least[before]!)), bottom = y(Math.min(least[x]!, most[before]!));
        ctx.fillRect(x, top - thick / 2, 1, bottom - top + thick);
      }
      const tick = (at: number) => ctx.fillRect((at / duration) * width, 5 * side * scale, 1.5 * scale, 4 * scale);
      for (let i = 0; i < signals.t.length; i += Math.ceil(signals.t.length / 500)) tick(signals.t[i]!);
    });
  }
}
