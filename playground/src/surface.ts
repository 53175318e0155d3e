// A law as a picture: its probability over the queue and the change of the queue, with the working point of a run moving over it.

import type { Result, Surface } from "./protocol";
import { color } from "./charts";

/** Dark for 0, light for the largest: the stops of viridis. */
const STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

function shade(part: number): [number, number, number] {
  const at = Math.min(0.9999, Math.max(0, part)) * (STOPS.length - 1);
  const low = STOPS[Math.floor(at)]!, high = STOPS[Math.floor(at) + 1]!;
  const mix = (i: number) => Math.round(low[i]! + (high[i]! - low[i]!) * (at % 1));
  return [mix(0), mix(1), mix(2)];
}

const LEFT = 44, BOTTOM = 30, TOP = 8, RIGHT = 8;

export class Picture {
  private background: HTMLCanvasElement | undefined;
  private surface: Surface | null = null;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly side: 0 | 1) {}

  show(surface: Surface | null): void {
    this.surface = surface;
    this.canvas.hidden = surface === null;
    this.background = undefined;
    if (!surface) return;
    const rows = surface.backlog.length, columns = surface.change.length;
    const most = surface.probability.reduce((most, p) => (p > most ? p : most), 1e-12);
    const image = new ImageData(columns, rows);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const p = surface.probability[row * columns + column]!;
        // The largest queue is at the top.
        const at = 4 * ((rows - 1 - row) * columns + column);
        image.data.set(Number.isFinite(p) ? [...shade(p / most), 255] : [0, 0, 0, 0], at);
      }
    }
    this.background = document.createElement("canvas");
    [this.background.width, this.background.height] = [columns, rows];
    this.background.getContext("2d")?.putImageData(image, 0, 0);
    const label = `Probability of the law over the queue (up to ${surface.backlog[rows - 1]} packets) and its change; the largest is ${most.toPrecision(2)}.`;
    this.canvas.setAttribute("aria-label", `${this.side === 0 ? "A" : "B"}. ${label}`);
  }

  /** Draws it with the working point of a run at a time, and where it has been. */
  draw(result: Result, time: number): void {
    const { surface, canvas, background } = this;
    const ctx = canvas.getContext("2d");
    if (!surface || !background || !ctx) return;
    const scale = devicePixelRatio, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== width * scale || canvas.height !== height * scale) [canvas.width, canvas.height] = [width * scale, height * scale];
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const plot = { width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
    ctx.imageSmoothingEnabled = true;
    ctx.drawImage(background, LEFT, TOP, plot.width, plot.height);
    const { backlog, change } = surface;
    const most = backlog[backlog.length - 1]!, far = change[change.length - 1]!;
    const x = (step: number) => LEFT + ((Math.min(far, Math.max(-far, step)) + far) / (2 * far)) * plot.width;
    const y = (packets: number) => TOP + (1 - Math.min(1, packets / most)) * plot.height;
    ctx.fillStyle = getComputedStyle(canvas).color;
    ctx.font = "12px system-ui, sans-serif";
    ctx.textAlign = "right";
    for (const part of [0, 0.5, 1]) ctx.fillText(String(Math.round(most * part)), LEFT - 6, y(most * part) + (part === 1 ? 10 : 0));
    ctx.textAlign = "center";
    for (const step of [-far, 0, far]) ctx.fillText(String(step), Math.min(width - 14, Math.max(LEFT + 8, x(step))), height - 16);
    ctx.fillText("change of the queue (packets an interval)", LEFT + plot.width / 2, height - 3);
    const { t, packets } = result.queue;
    const step = (t[1] ?? 1) - (t[0] ?? 0), now = Math.min(t.length - 1, Math.max(1, Math.floor(time / step)));
    const at = (i: number): [number, number] => [x(((packets[i]! - packets[i - 1]!) * surface.interval) / step), y(packets[i]!)];
    ctx.fillStyle = "#fff8";
    for (let i = Math.max(1, now - 150); i < now; i++) ctx.fillRect(at(i)[0] - 1, at(i)[1] - 1, 2, 2);
    ctx.beginPath();
    ctx.arc(...at(now), 6, 0, 2 * Math.PI);
    ctx.fillStyle = color(this.side);
    ctx.fill();
    ctx.lineWidth = 2;
    ctx.strokeStyle = "#fff";
    ctx.stroke();
  }
}
