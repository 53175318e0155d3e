// The table of results: A and B, their difference over paired seeds, and published values.

import type { Result } from "./protocol";

export interface Row {
  label: string;
  unit: string;
  /** Its path in a record; empty for measures that only a paper's own program computes. */
  path: string;
  scale: number;
  printed: (number | null)[];
  where: string;
}

/** The measures of every run; `LINK` is the watched link. */
const ALWAYS: [string, string, string, number][] = [
  ["utilization", "%", "links.LINK.utilization", 100],
  ["queue", "packets", "links.LINK.queue.mean", 1],
  ["queuing delay", "ms", "links.LINK.wait_ms.mean", 1],
  ["queuing delay, 99 %", "ms", "links.LINK.wait_ms.p99", 1],
  ["lost", "%", "links.LINK.loss_ratio", 100],
  ["dropped", "packets", "links.LINK.dropped_total", 1],
  ["marked", "packets", "links.LINK.marked", 1],
  ["goodput of all flows", "Mbit/s", "total.goodput_bps", 1e-6],
  ["Jain's index", "", "total.jain", 1],
];

/** The value at a path of a record; list entries are selected by name. */
export function value(record: any, path: string): number {
  let here = record;
  for (const part of path.split(".")) {
    here = Array.isArray(here) ? here.find((each) => each.name === part) : here?.[part];
  }
  return typeof here === "number" ? here : NaN;
}

/** The value at a path, or the sum of values at several paths. */
export function measured(record: any, row: Pick<Row, "path" | "scale">): number {
  if (!row.path) return NaN;
  return row.path.split(" + ").reduce((sum, path) => sum + value(record, path.trim()), 0) * row.scale;
}

export function rows(papers: Row[], link: string, records: any[]): Row[] {
  const always = ALWAYS.map(([label, unit, path, scale]) => ({
    label, unit, path: path.replace("LINK", link), scale, printed: [null, null], where: "",
  }));
  const groups = records[0]?.groups?.length > 1 ? records[0].groups.map((group: any) => ({
    label: `goodput of ${group.name}`, unit: "Mbit/s", path: `groups.${group.name}.goodput_bps`, scale: 1e-6, printed: [null, null], where: "",
  })) : [];
  const known = new Set(papers.map((row) => row.path));
  return [...papers, ...[...always, ...groups].filter((row: Row) => !known.has(row.path))];
}

/** Quantiles 0.975 of Student's distribution for 1 to 9 degrees of freedom. */
const STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/** The mean of values and the half width of its 95 % interval; a single value has no interval. */
export function interval(values: number[]): { mean: number; half: number } {
  const n = values.length, mean = values.reduce((sum, each) => sum + each, 0) / n;
  const variance = values.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (n - 1);
  return { mean, half: (STUDENT[n - 2] ?? 1.96) * Math.sqrt(variance / n) };
}

/** A number with the digits of the table. */
export const digits = (number: number): string => {
  if (!Number.isFinite(number)) return "–";
  if (Number.isInteger(number)) return String(number);
  const size = Math.abs(number);
  return size >= 1000 ? number.toFixed(0) : size >= 10 ? number.toFixed(1) : size === 0 ? "0" : String(Number(number.toPrecision(3)));
};

function cell(row: HTMLTableRowElement, text: string, kind = ""): void {
  const made = row.insertCell();
  made.textContent = text;
  if (kind) made.className = kind;
}

export function fill(table: HTMLTableElement, papers: Row[], results: [Result, Result]): void {
  const body = table.tBodies[0]!;
  // Without published values the last column would be empty.
  table.classList.toggle("unprinted", papers.every((row) => row.printed.every((each) => each === null)));
  const [a, b] = results.map((result) => [result.record, ...result.others.map((other) => other.record)]) as [any[], any[]];
  const pairs = Math.min(a.length, b.length);
  body.replaceChildren();
  for (const row of rows(papers, results[0].link, a)) {
    const [left, right] = [a, b].map((records) => records.slice(0, pairs).map((record) => measured(record, row))) as [number[], number[]];
    if (![...left, ...right].some(Number.isFinite) && row.printed.every((each) => each === null)) continue;
    const line = body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = row.unit ? `${row.label} (${row.unit})` : row.label;
    line.append(head);
    cell(line, digits(interval(left).mean));
    cell(line, digits(interval(right).mean));
    const { mean, half } = interval(left.map((each, i) => right[i]! - each));
    cell(line, Number.isFinite(half) && pairs > 1 ? `${digits(mean)} ± ${digits(half)}` : digits(mean));
    const printed = row.printed.map((each) => (each === null ? "–" : digits(each)));
    cell(line, row.printed.every((each) => each === null) ? "" : `${printed.join(" / ")} (${row.where})`, "printed");
  }
}
