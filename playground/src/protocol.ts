// What the page and a worker say to each other.

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

/** A law's margins with the flows of a scenario; `refused` says why there are none. */
export interface Stability {
  refused?: string;
  point?: { queue: number; probability: number; window: number; load: number };
  margins?: Margins;
  notes?: string[];
  bode?: Bode;
}

/** A law over the queue and its change: a row for each backlog. */
export interface Surface {
  backlog: Float64Array;
  change: Float64Array;
  probability: Float64Array;
  interval: number;
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
  /** Waits in ms at equal steps of their distribution. */
  cdf: { ms: Float64Array; part: Float64Array };
  /** Records of further seeds, in their order. */
  others: { seed: number; record: any }[];
  milliseconds: number;
}

export type Ask =
  | { kind: "schema" }
  | { kind: "toml"; table: Table; file: string }
  | { kind: "table"; toml: string; file: string }
  | { kind: "run"; table: Table; file: string; link: string; seed: number }
  | { kind: "law"; table: Table; file: string; link: string; seed: number };

export interface Told {
  schema: { schema: any; measures: any };
  toml: { toml: string };
  table: { table: Table };
  run: Result;
  law: { stability: Stability; surface: Surface | null };
}
