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

/** A law's margins with the flows of a scenario; `refused` is the reason if they are unavailable. */
export interface Stability {
  refused?: string;
  point?: { queue: number; probability: number; window: number; load: number };
  margins?: Margins;
  notes?: string[];
  bode?: Bode;
}

/** A law over two inputs: a value for each row and column. */
export interface Surface {
  /** The probability of a queue law, the increment by its rules, or the output of a controller's rules. */
  of: "probability" | "rules" | "controller";
  rows: Float64Array;
  columns: Float64Array;
  /** Row by row; NaN if undefined. */
  values: Float64Array;
  /** Of a queue law, the time between its updates in s. */
  interval?: number;
  /** Of a controller, its flow. */
  flow?: string;
}

export interface Result {
  record: any;
  toml: string;
  link: string;
  seed: number;
  /** t, packets, delay_s, probability of the watched queue. */
  queue: { t: Float64Array; packets: Float64Array; delay: Float64Array; probability: Float64Array };
  /** Drops and marks at the watched link, in the order of time. */
  signals: { t: Float64Array; flow: Float64Array; cause: Float64Array };
  /** Windows by flow, all at the times of the queue. */
  windows: { flow: string; t: Float64Array; packets: Float64Array }[];
  /** Where the first controller with fuzzy rules was between their terms. */
  controller: { t: Float64Array; error: Float64Array; trend: Float64Array } | null;
  /** Waits in ms at equal steps of their distribution. */
  cdf: { ms: Float64Array; part: Float64Array };
  /** Records of further seeds, in their order. */
  others: { seed: number; record: any }[];
  milliseconds: number;
}

export type Ask =
  | { kind: "toml"; table: Table; file: string }
  | { kind: "table"; toml: string; file: string }
  | { kind: "run"; table: Table; file: string; link: string; seed: number }
  | { kind: "law"; table: Table; file: string; link: string; seed: number };

export interface Told {
  toml: { toml: string };
  table: { table: Table };
  run: Result;
  law: { stability: Stability; surface: Surface | null };
}
