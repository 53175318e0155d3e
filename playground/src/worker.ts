// Runs the engine in a worker, so that the page stays responsive.

import { Engine, column, type Answer, type Table } from "./engine";
import type { Ask, Result, Stability, Surface, Replies } from "./protocol";

/** Points of a distribution, and the number of equal parts of the longest wait in which waits are counted. Sorting them takes longer. */
const POINTS = 400, PARTS = 4096;
let engine: Promise<Engine> | undefined;

function waits(answer: Answer, link: string): Result["cdf"] {
  const seconds = column(answer, answer.json.series[`wait/${link}`].seconds), count = Math.min(POINTS, seconds.length);
  let longest = 0;
  for (let i = 0; i < seconds.length; i++) longest = Math.max(longest, seconds[i]!);
  const counts = new Uint32Array(PARTS + 1), scale = longest > 0 ? PARTS / longest : 0;
  for (let i = 0; i < seconds.length; i++) counts[Math.floor(seconds[i]! * scale)]!++;
  const ms = new Float64Array(count), part = new Float64Array(count);
  for (let point = 0, of = 0, sum = counts[0]!; point < count; point++) {
    part[point] = (point + 1) / count;
    while (sum < part[point]! * seconds.length && of < PARTS) sum += counts[++of]!;
    ms[point] = (1000 * longest * of) / PARTS;
  }
  return { ms, part };
}

function sent(answer: Answer, link: string): Result["packets"] {
  const { t, seconds, flow } = answer.json.series[`wait/${link}`];
  return { t: column(answer, t), wait: column(answer, seconds), flow: column(answer, flow) };
}

function places(answer: Answer): Result["controller"] {
  const traced = Object.entries<any>(answer.json.series).find(([name]) => name.startsWith("controller/"))?.[1];
  return traced?.error_term ? { t: column(answer, traced.t), error: column(answer, traced.error_term), trend: column(answer, traced.trend_term) } : null;
}

function text(engine: Engine, table: Table, file: string): string {
  return engine.ask({ ask: "toml", table, file }).json.toml;
}

function run(engine: Engine, ask: Extract<Ask, { kind: "run" }>): Result {
  const begin = performance.now();
  const toml = text(engine, ask.table, ask.file);
  const answer = engine.ask({ ask: "run", toml, file: ask.file, seed: ask.seed, watch: ask.link });
  const { record, series, warnings } = answer.json;
  const queue = series[`queue/${ask.link}`], signals = series[`signals/${ask.link}`];
  const windows = Object.entries<any>(series).filter(([name]) => name.startsWith("cwnd/"));
  return {
    record, warnings, toml, link: ask.link, seed: ask.seed,
    queue: {
      t: column(answer, queue.t), packets: column(answer, queue.packets),
      delay: column(answer, queue.delay_s), probability: column(answer, queue.probability),
    },
    signals: { t: column(answer, signals.t), flow: column(answer, signals.flow), cause: column(answer, signals.cause) },
    packets: sent(answer, ask.link),
    windows: windows.map(([name, each]) => ({
      flow: name.slice("cwnd/".length), t: column(answer, each.t), packets: column(answer, each.packets),
    })),
    controller: places(answer),
    cdf: waits(answer, ask.link),
    others: [],
    milliseconds: performance.now() - begin,
  };
}

function law(engine: Engine, ask: Extract<Ask, { kind: "law" }>): Replies["law"] {
  const toml = text(engine, ask.table, ask.file);
  const about = { toml, file: ask.file, link: ask.link, seed: ask.seed };
  let stability: Stability, surface: Surface | null = null;
  try {
    const answer = engine.ask({ ask: "loop", ...about });
    const { omega, gain, phase } = answer.json.bode;
    const bode = { omega: column(answer, omega), gain: column(answer, gain), phase: column(answer, phase) };
    stability = { ...answer.json, bode };
  } catch (error) {
    if (!(error instanceof Error) || error instanceof WebAssembly.RuntimeError) throw error;
    stability = { refused: error.message };
  }
  try {
    const answer = engine.ask({ ask: "surface", ...about });
    const { of, rows, columns, values, interval, flow } = answer.json;
    surface = { of, interval, flow, rows: column(answer, rows), columns: column(answer, columns), values: column(answer, values) };
  } catch (error) {
    if (!(error instanceof Error) || error instanceof WebAssembly.RuntimeError) throw error;
  }
  return { stability, surface };
}

async function answer(ask: Ask): Promise<unknown> {
  if (!engine) throw new Error("the engine is not there yet");
  const it = await engine;
  switch (ask.kind) {
    case "toml": return { toml: text(it, ask.table, ask.file) };
    case "table": return it.ask({ ask: "table", toml: ask.toml, file: ask.file }).json;
    case "run": return run(it, ask);
    case "law": return law(it, ask);
  }
}

self.onmessage = async ({ data }: MessageEvent<{ module?: WebAssembly.Module; ask?: Ask }>) => {
  if (data.module) {
    engine = Engine.start(data.module);
    return;
  }
  try {
    const told = await answer(data.ask as Ask);
    // The columns of a run share one buffer, which is transferred and not copied.
    self.postMessage({ told }, { transfer: data.ask?.kind === "run" ? [(told as Result).queue.t.buffer] : [] });
  } catch (error) {
    // After a trap the engine's memory is unusable.
    const trapped = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
    self.postMessage({ refused: error instanceof Error ? error.message : String(error), trapped });
  }
};
