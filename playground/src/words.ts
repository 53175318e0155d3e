// What the page says of a result, in sentences: for the eye and for a screen reader.

import type { Table } from "./engine";
import type { Result, Stability } from "./protocol";

const two = (value: number): string => String(Number(value.toPrecision(3)));

/** What became of a packet, by the number in the series of signals. */
const CAUSES = [
  (aqm: string) => `was dropped by ${aqm}, to signal congestion: it could not be marked`,
  (aqm: string) => `was dropped by ${aqm}, which drops at this point even what can be marked`,
  () => "was dropped because the queue was full",
  () => "was lost on the link: by an impairment, or with bit errors",
  (aqm: string) => `was marked by ${aqm} instead of dropped`,
  () => "was dropped by the ACK filter: a later ACK says the same",
];

/** Why a packet was dropped or marked, with the queue as it was at the last sample before. */
export function why(result: Result, signal: number, queue: Table): string {
  const at = result.signals.t[signal]!;
  const { t, packets, delay, probability } = result.queue;
  const step = (t[1] ?? 1) - (t[0] ?? 0), sample = Math.min(t.length - 1, Math.floor(at / step));
  const flow: string = result.record.flows[result.signals.flow[signal]!]?.name ?? "a flow";
  const became = CAUSES[result.signals.cause[signal]!]!(String(queue["aqm"] ?? "droptail"));
  const state = [`${packets[sample]} packets waited, which takes ${two(1000 * delay[sample]!)} ms`];
  if (Number.isFinite(probability[sample])) state.push(`the discipline's probability was ${two(100 * probability[sample]!)} %`);
  else if (queue["target"] !== undefined) state.push(`its target is ${String(queue["target"])}`);
  if (queue["limit"] !== undefined) state.push(`the buffer holds ${String(queue["limit"])}`);
  return `At ${at.toFixed(4)} s a packet of ${flow} ${became}. At ${t[sample]!.toFixed(3)} s ${state.join("; ")}.`;
}

export function margins({ refused, point, margins }: Stability): string {
  if (refused !== undefined) return refused;
  if (!point || !margins) return "";
  const at = `queue ${two(point.queue)} packets, probability ${two(100 * point.probability)} %, window ${two(point.window)} packets`;
  if (!margins.stable) {
    const much = margins.gain === null ? "" : `; the gain is ${two(20 * Math.log10(1 / margins.gain))} dB above the limit`;
    return `At ${at}: unstable, small deviations grow${much}.`;
  }
  const gain = margins.gain === null ? "no limit" : `${two(20 * Math.log10(margins.gain))} dB`;
  const phase = margins.phase === null || margins.delay === null ? "no crossover"
    : `phase margin ${two(margins.phase)}°, delay margin ${two(1000 * margins.delay)} ms`;
  return `At ${at}: stable; gain margin ${gain}; ${phase}.`;
}
