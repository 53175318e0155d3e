// A law as an image: its output over two inputs, with the moving operating point of a run.

import type { Result, Surface } from "./protocol";
import { color, css, watch } from "./charts";

/** The colors of viridis: dark for the smallest value, light for the largest. */
const STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

function shade(part: number): [number, number, number] {
  const at = Math.min(0.9999, Math.max(0, part)) * (STOPS.length - 1);
  const low = STOPS[Math.floor(at)]!, high = STOPS[Math.floor(at) + 1]!;
  const mix = (i: number) => Math.round(low[i]! + (high[i]! - low[i]!) * (at % 1));
  return [mix(0), mix(1), mix(2)];
}

const QUEUE = { rows: "queue (packets)", columns: "change of the queue (packets an interval)" };
const WORDS: Record<Surface["of"], { rows: string; columns: string; values: string }> = {
  probability: { ...QUEUE, values: "probability" },
  rules: { ...QUEUE, values: "what the rules add to the probability, in their own unit" },
  controller: {
    rows: "error (terms of the rules)", columns: "trend (terms of the rules)",
    values: "change of the window in segments a round trip; where it is empty, the window is reset to one",
  },
};

/** The path of a run on a surface, at increasing times. */
interface Path {
  t: Float64Array;
  row(i: number): number;
  column(i: number): number;
}

function path(surface: Surface, result: Result): Path | null {
  if (surface.of === "controller") {
    const { controller } = result;
    return controller && { t: controller.t, row: (i) => controller.error[i]!, column: (i) => controller.trend[i]! };
  }
  const { t, packets } = result.queue, part = (surface.interval ?? 0) / ((t[1] ?? 1) - (t[0] ?? 0));
  return { t, row: (i) => packets[i]!, column: (i) => (packets[i]! - (packets[i - 1] ?? packets[i]!)) * part };
}

/** The index of the last of increasing times that is not after `time`; the first if all are. */
function before(t: Float64Array, time: number): number {
  let low = 0, high = t.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle]! <= time) low = middle;
    else high = middle;
  }
  return low;
}

const LEFT = 52, BOTTOM = 30, TOP = 8, RIGHT = 62, BAR = 10;
/** Number of earlier points that are drawn. */
const TRAIL = 150;

export class Picture {
  private background: HTMLCanvasElement | undefined;
  private surface: Surface | null = null;
  private range: [number, number] = [0, 1];
  private last: [Result, number] | undefined;
  private size = { width: 0, height: 0 };
  private readonly visible: () => boolean;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly side: 0 | 1) {
    const paint = () => this.last && this.paint(...this.last);
    new ResizeObserver(([entry]) => {
      this.size = { width: Math.round(entry!.contentRect.width), height: Math.round(entry!.contentRect.height) };
      paint();
    }).observe(canvas);
    this.visible = watch(canvas, paint);
  }

  show(surface: Surface | null): void {
    this.surface = surface;
    this.canvas.hidden = surface === null;
    this.background = undefined;
    if (!surface) return;
    const rows = surface.rows.length, columns = surface.columns.length;
    const finite = surface.values.filter(Number.isFinite);
    const least = finite.reduce((least, value) => Math.min(least, value), 0), most = finite.reduce((most, value) => Math.max(most, value), least + 1e-12);
    this.range = [least, most];
    const image = new ImageData(columns, rows);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const value = surface.values[row * columns + column]!;
        // The largest row is at the top.
        const at = 4 * ((rows - 1 - row) * columns + column);
        image.data.set(Number.isFinite(value) ? [...shade((value - least) / (most - least)), 255] : [0, 0, 0, 0], at);
      }
    }
    this.background = document.createElement("canvas");
    [this.background.width, this.background.height] = [columns, rows];
    this.background.getContext("2d")?.putImageData(image, 0, 0);
    const name = this.side === 0 ? "A" : "B", words = WORDS[surface.of];
    const caption = this.canvas.closest("figure")?.querySelector("figcaption");
    if (caption) caption.textContent = `Law ${name}${surface.flow ? ` of ${surface.flow}` : ""}: ${words.values}`;
    const label = `${words.values}, from ${this.said(least)} to ${this.said(most)}, over ${words.rows} and ${words.columns}, with the operating point.`;
    this.canvas.setAttribute("aria-label", `${name}: ${label}`);
  }

  private said(value: number): string {
    return String(Number(value.toPrecision(2)));
  }

  /** Draws the surface if visible, with the operating point of a run at a time and its earlier path. */
  draw(result: Result, time: number): void {
    this.last = [result, time];
    if (this.visible()) this.paint(result, time);
  }

  private paint(result: Result, time: number): void {
    const { surface, canvas, background, size: { width, height } } = this;
    const ctx = canvas.getContext("2d");
    if (!surface || !background || !ctx || width === 0) return;
    const scale = devicePixelRatio;
    if (canvas.width !== width * scale || canvas.height !== height * scale) [canvas.width, canvas.height] = [width * scale, height * scale];
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const plot = { width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
    ctx.imageSmoothingEnabled = true;
    ctx.drawImage(background, LEFT, TOP, plot.width, plot.height);
    const { rows, columns } = surface, ends = (axis: Float64Array): [number, number] => [axis[0]!, axis[axis.length - 1]!];
    const part = ([low, high]: [number, number], value: number) => (Math.min(high, Math.max(low, value)) - low) / (high - low);
    const x = (column: number) => LEFT + part(ends(columns), column) * plot.width;
    const y = (row: number) => TOP + (1 - part(ends(rows), row)) * plot.height;
    const ticks = ([low, high]: [number, number]) => [low, (low + high) / 2, high];
    ctx.fillStyle = css("--text");
    ctx.font = "12px system-ui, sans-serif";
    ctx.textAlign = "right";
    for (const row of ticks(ends(rows))) ctx.fillText(String(Math.round(row)), LEFT - 6, Math.max(TOP + 10, y(row)));
    ctx.textAlign = "center";
    for (const column of ticks(ends(columns))) ctx.fillText(String(Math.round(column)), x(column), height - 16);
    ctx.fillText(WORDS[surface.of].columns, LEFT + plot.width / 2, height - 3);
    ctx.save();
    ctx.translate(11, TOP + plot.height / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText(WORDS[surface.of].rows, 0, 0);
    ctx.restore();
    this.bar(ctx, LEFT + plot.width + 8, plot.height);
    const been = path(surface, result);
    if (!been) return;
    const now = before(been.t, time);
    const at = (i: number): [number, number] => [x(been.column(i)), y(been.row(i))];
    ctx.fillStyle = "#fff8";
    for (let i = Math.max(0, now - TRAIL); i < now; i++) ctx.fillRect(at(i)[0] - 1, at(i)[1] - 1, 2, 2);
    if (!Number.isFinite(been.row(now))) return;
    ctx.beginPath();
    ctx.arc(...at(now), 6, 0, 2 * Math.PI);
    ctx.fillStyle = color(this.side);
    ctx.fill();
    ctx.lineWidth = 2;
    ctx.strokeStyle = "#fff";
    ctx.stroke();
  }

  /** The legend of colors. */
  private bar(ctx: CanvasRenderingContext2D, left: number, height: number): void {
    const gradient = ctx.createLinearGradient(0, TOP + height, 0, TOP);
    STOPS.forEach((rgb, i) => gradient.addColorStop(i / (STOPS.length - 1), `rgb(${rgb.join(" ")})`));
    const text = ctx.fillStyle;
    ctx.fillStyle = gradient;
    ctx.fillRect(left, TOP, BAR, height);
    ctx.fillStyle = text;
    ctx.textAlign = "left";
    ctx.fillText(this.said(this.range[1]), left + BAR + 4, TOP + 10);
    ctx.fillText(this.said(this.range[0]), left + BAR + 4, TOP + height);
  }
}
