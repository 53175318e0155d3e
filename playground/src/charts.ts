// Charts on top of uPlot: lines of A and B, with the published values of a paper.

import uPlot from "uplot";

export interface Line {
  label: string;
  side: 0 | 1;
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  /** One of many lines, or an oscillating one: thin, and never dashed. */
  thin?: boolean;
}

export interface Mark {
  /** A line across the chart at a time or value. */
  x?: number;
  y?: number;
  side: 0 | 1;
  label: string;
}

export interface Axes {
  x: string;
  y: string;
  logarithmic?: boolean;
}

/** Colors of the style sheet, cached until the theme changes, because reading them forces a layout. */
const styles = new Map<string, string>();
export function css(name: string): string {
  let known = styles.get(name);
  if (known === undefined) styles.set(name, (known = getComputedStyle(document.documentElement).getPropertyValue(name).trim()));
  return known;
}
export const restyled = (): void => styles.clear();
export const color = (side: 0 | 1): string => css(side === 0 ? "--a" : "--b");

const short = (value: number): string => {
  if (value === 0) return "0";
  return Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(4)));
};

/** Whether two axes have the same numbers. A and B often have the same times. */
function same(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Callbacks for elements that come into view, and the visible elements. */
const entering = new Map<Element, () => void>();
const inView = new Set<Element>();
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) inView.delete(target);
    else if (!inView.has(target)) {
      inView.add(target);
      entering.get(target)?.();
    }
  }
}, { rootMargin: "100px" });

/** Calls `enter` when an element is about to become visible; returns whether it is visible. */
export function watch(element: Element, enter: () => void): () => boolean {
  entering.set(element, enter);
  observer.observe(element);
  return () => inView.has(element);
}

/** A chart. It is drawn only while it is visible. */
export class Chart {
  private plot: uPlot | undefined;
  private signature = "";
  private readonly visible: () => boolean;
  private stale = false;
  private marks: Mark[] = [];
  private lines: Line[] = [];
  /** The time of the moving point. */
  private time: number | undefined;
  onclick: ((x: number, y: number) => void) | undefined;

  constructor(private readonly host: HTMLElement, private readonly axes: Axes) {
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(host);
    this.visible = watch(host, () => (this.stale ? this.paint() : this.plot?.redraw(false)));
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(200, this.host.clientWidth), height: Math.max(160, Math.min(260, this.host.clientWidth * 0.5)) };
  }

  draw(lines: Line[], marks: Mark[] = [], y = this.axes.y): void {
    if (y !== this.axes.y) [this.axes.y, this.signature] = [y, ""];
    this.marks = marks;
    this.lines = lines;
    this.stale = true;
    if (this.visible()) this.paint();
  }

  private paint(): void {
    const { lines } = this;
    this.stale = false;
    const signature = JSON.stringify(lines.map((line) => [line.label, line.side, line.thin]));
    const alike = lines.every((line) => same(line.x, lines[0]!.x));
    const data = lines.length === 0 ? [[], []] : alike
      ? [lines[0]!.x, ...lines.map((line) => line.y)]
      : uPlot.join(lines.map((line) => [line.x, line.y] as unknown as uPlot.AlignedData));
    if (signature !== this.signature || !this.plot) {
      this.plot?.destroy();
      this.plot = new uPlot(this.options(), data as uPlot.AlignedData, this.host);
      this.signature = signature;
    } else this.plot.setData(data as uPlot.AlignedData);
  }

  /** Redraws with the current colors of the page. */
  restyle(): void {
    this.signature = "";
    this.draw(this.lines, this.marks);
  }

  at(time: number | undefined): void {
    this.time = time;
    if (this.visible()) this.plot?.redraw(false);
  }

  private options(): uPlot.Options {
    const text = css("--text"), grid = { stroke: css("--grid"), width: 1 };
    const axis = { stroke: text, grid, ticks: grid, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18 };
    const values = (_: uPlot, all: number[]) => all.map((value) => (value === null ? "" : short(value)));
    return {
      ...this.size(),
      legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false, distr: this.axes.logarithmic ? 3 : 1 } },
      axes: [{ ...axis, label: this.axes.x, values, size: 34 }, { ...axis, label: this.axes.y, values, size: 52 }],
      series: [{}, ...this.lines.map((line) => ({
        label: line.label, stroke: color(line.side), width: line.thin ? 1 : 1.8, spanGaps: true, points: { show: false },
        ...(line.side === 1 && !line.thin ? { dash: [6, 3] } : {}),
      }))],
      hooks: {
        draw: [(plot) => this.drawMarks(plot)],
        ready: [(plot) => plot.over.addEventListener("click", (event) => {
          this.onclick?.(plot.posToVal(event.offsetX, "x"), plot.posToVal(event.offsetY, "y"));
        })],
      },
    };
  }

  private drawMarks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textBaseline = "alphabetic";
    const line = (x0: number, y0: number, x1: number, y1: number) => {
      ctx.beginPath();
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
      ctx.stroke();
    };
    /** Draws text on a background in the color of the page, so that it is readable over lines. */
    const outlined = (hue: string, draw: (over: boolean) => void) => {
      [ctx.strokeStyle, ctx.fillStyle, ctx.lineWidth] = [css("--panel"), css("--panel"), 4 * devicePixelRatio];
      draw(false);
      [ctx.strokeStyle, ctx.fillStyle, ctx.lineWidth] = [hue, hue, 2 * devicePixelRatio];
      draw(true);
    };
    const right = bbox.left + bbox.width;
    const beside = this.marks.filter((mark) => mark.x !== undefined);
    for (const mark of this.marks) {
      outlined(color(mark.side), (over) => {
        ctx.setLineDash(over ? [2 * devicePixelRatio, 4 * devicePixelRatio] : []);
        const words = (x: number, y: number) => (over ? ctx.fillText(mark.label, x, y) : ctx.strokeText(mark.label, x, y));
        // The text of A is on the left, that of B on the right.
        ctx.textAlign = mark.side === 0 ? "left" : "right";
        if (mark.x !== undefined) {
          const x = plot.valToPos(mark.x, "x", true);
          if (x < bbox.left || x > right) return;
          line(x, bbox.top, x, bbox.top + bbox.height);
          ctx.textAlign = x > bbox.left + bbox.width / 2 ? "right" : "left";
          ctx.setLineDash([]);
          words(x + (ctx.textAlign === "left" ? 6 : -6), bbox.top + 14 * devicePixelRatio * (1 + beside.indexOf(mark)));
        } else if (mark.y !== undefined) {
          const y = plot.valToPos(mark.y, "y", true);
          if (y < bbox.top || y > bbox.top + bbox.height) return;
          line(bbox.left, y, right, y);
          ctx.setLineDash([]);
          words(mark.side === 0 ? bbox.left + 6 : right - 6, y - 5 * devicePixelRatio);
        }
      });
    }
    if (this.time !== undefined) {
      ctx.setLineDash([]);
      [ctx.strokeStyle, ctx.lineWidth] = [css("--text"), devicePixelRatio];
      const x = plot.valToPos(this.time, "x", true);
      if (x >= bbox.left && x <= bbox.left + bbox.width) line(x, bbox.top, x, bbox.top + bbox.height);
    }
    ctx.restore();
  }
}
