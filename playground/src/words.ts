// Sentences about results, for the page and for screen readers.

import type { Table } from "./engine";
import type { Result, Stability } from "./protocol";

const two = (value: number): string => String(Number(value.toPrecision(3)));

/** The fate of a packet by its cause in the series of signals. */
const CAUSES = [
  (aqm: string) => `was dropped by ${aqm} as a congestion signal, because it is not ECN-capable`,
  (aqm: string) => `was dropped by ${aqm}, which at this point drops even ECN-capable packets`,
  () => "was dropped because the queue was full",
  () => "was lost on the link: by an impairment, or with bit errors",
  (aqm: string) => `was marked by ${aqm} instead of dropped`,
  () => "was dropped by the ACK filter: a later ACK makes it redundant",
];

/** Explains a drop or mark, with the state of the queue at the last sample before it. */
export function why(result: Result, signal: number, queue: Table): string {
  const at = result.signals.t[signal]!;
  const { t, packets, delay, probability } = result.queue;
  const step = (t[1] ?? 1) - (t[0] ?? 0), sample = Math.min(t.length - 1, Math.floor(at / step));
  const flow: string = result.record.flows[result.signals.flow[signal]!]?.name ?? "a flow";
  const became = CAUSES[result.signals.cause[signal]!]!(String(queue["aqm"] ?? "droptail"));
  const state = [`${packets[sample]} packets were queued, a delay of ${two(1000 * delay[sample]!)} ms`];
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
