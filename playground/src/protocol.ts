// The messages between the page and a worker.

import type { Table } from "./engine";

export interface Bode {
  omega: Float64Array;
  gain: Float64Array;
  phase: Float64Array;
}

export interface Margins {
  stable: boolean;
  gain: number | null;
  phase: number | null;
  delay: number | null;
  crossover: number | null;
}

/** The margins of a law with the flows of a scenario; `refused` is the reason if they are unavailable. */
export interface Stability {
  refused?: string;
  point?: { queue: number; probability: number; window: number; load: number };
  margins?: Margins;
  notes?: string[];
  bode?: Bode;
}

/** A law over two inputs, with a value per row and column. */
export interface Surface {
  /** The kind of values: probability of a queue law, increment by its rules, or output of a controller's rules. */
  of: "probability" | "rules" | "controller";
  rows: Float64Array;
  columns: Float64Array;
  /** The values, row by row; NaN if undefined. */
  values: Float64Array;
  /** The time between updates of a queue law in s. */
  interval?: number;
  /** The flow of a controller. */
  flow?: string;
}

export interface Result {
  record: any;
  /** Settings of the scenario without effect: a sentence each. */
  warnings: string[];
  toml: string;
  link: string;
  seed: number;
  /** The columns t, packets, delay_s and probability of the watched queue. */
  queue: { t: Float64Array; packets: Float64Array; delay: Float64Array; probability: Float64Array };
  /** Drops and marks at the watched link, in the order of time. */
  signals: { t: Float64Array; flow: Float64Array; cause: Float64Array };
  /** Packets that the watched link sent, in the order of arrival: the arrival and the wait in s, and the flow. */
  packets: { t: Float64Array; wait: Float64Array; flow: Float64Array };
  /** Windows by flow, at the times of the queue. */
  windows: { flow: string; t: Float64Array; packets: Float64Array }[];
  /** The inputs of the first controller with fuzzy rules, as positions between terms. */
  controller: { t: Float64Array; error: Float64Array; trend: Float64Array } | null;
  /** Quantiles of waits in ms, at equal steps of probability. */
  cdf: { ms: Float64Array; part: Float64Array };
  /** Records of further seeds, in the order of seeds. */
  others: { seed: number; record: any }[];
  milliseconds: number;
}

export type Ask =
  | { kind: "toml"; table: Table; file: string }
  | { kind: "table"; toml: string; file: string }
  | { kind: "run"; table: Table; file: string; link: string; seed: number }
  | { kind: "law"; table: Table; file: string; link: string; seed: number };

export interface Replies {
  toml: { toml: string };
  table: { table: Table };
  run: Result;
  law: { stability: Stability; surface: Surface | null };
}
