// What the page says of a result, in sentences: for the eye and for a screen reader.

import type { Stability } from "./protocol";

const two = (value: number): string => String(Number(value.toPrecision(3)));

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
