// Charts over uPlot: lines of A and B, with what a paper prints drawn in.

import uPlot from "uplot";

export interface Line {
  label: string;
  side: 0 | 1;
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  thin?: boolean;
}

export interface Mark {
  /** A line across the chart at this time or value. */
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

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const color = (side: 0 | 1): string => css(side === 0 ? "--a" : "--b");

const short = (value: number): string => {
  if (value === 0) return "0";
  return Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(4)));
};

export class Chart {
  private plot: uPlot | undefined;
  private signature = "";
  private marks: Mark[] = [];
  private lines: Line[] = [];
  /** Where the moving point is, on the axis of time. */
  private time: number | undefined;
  onclick: ((x: number, y: number) => void) | undefined;

  constructor(private readonly host: HTMLElement, private readonly axes: Axes) {
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(host);
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(200, this.host.clientWidth), height: Math.max(160, Math.min(260, this.host.clientWidth * 0.5)) };
  }

  draw(lines: Line[], marks: Mark[] = []): void {
    this.marks = marks;
    this.lines = lines;
    const signature = JSON.stringify(lines.map((line) => [line.label, line.side, line.thin]));
    const alike = lines.every((line) => line.x === lines[0]?.x);
    const data = lines.length === 0 ? [[], []] : alike
      ? [lines[0]!.x, ...lines.map((line) => line.y)]
      : uPlot.join(lines.map((line) => [line.x, line.y] as unknown as uPlot.AlignedData));
    if (signature !== this.signature || !this.plot) {
      this.plot?.destroy();
      this.plot = new uPlot(this.options(), data as uPlot.AlignedData, this.host);
      this.signature = signature;
    } else this.plot.setData(data as uPlot.AlignedData);
  }

  /** Draws again with the colors of the page as they are now. */
  restyle(): void {
    this.signature = "";
    this.draw(this.lines, this.marks);
  }

  at(time: number | undefined): void {
    this.time = time;
    this.plot?.redraw(false);
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
        ...(line.side === 1 ? { dash: [6, 3] } : {}),
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
    const line = (x0: number, y0: number, x1: number, y1: number) => {
      ctx.beginPath();
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
      ctx.stroke();
    };
    ctx.lineWidth = devicePixelRatio;
    for (const mark of this.marks) {
      ctx.strokeStyle = ctx.fillStyle = color(mark.side);
      ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
      if (mark.x !== undefined) {
        const x = plot.valToPos(mark.x, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        line(x, bbox.top, x, bbox.top + bbox.height);
        ctx.fillText(mark.label, x + 4, bbox.top + 12 * devicePixelRatio * (1 + mark.side));
      } else if (mark.y !== undefined) {
        const y = plot.valToPos(mark.y, "y", true);
        if (y < bbox.top || y > bbox.top + bbox.height) continue;
        line(bbox.left, y, bbox.left + bbox.width, y);
        ctx.fillText(mark.label, bbox.left + 6, y - 3 * devicePixelRatio);
      }
    }
    if (this.time !== undefined) {
      ctx.setLineDash([]);
      ctx.strokeStyle = css("--text");
      const x = plot.valToPos(this.time, "x", true);
      if (x >= bbox.left && x <= bbox.left + bbox.width) line(x, bbox.top, x, bbox.top + bbox.height);
    }
    ctx.restore();
  }
}
