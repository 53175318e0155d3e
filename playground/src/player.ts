// The time of the run that the page shows: it plays, pauses, and moves with a slider.

import { get } from "./plots";

/** Factors of a story's pace. */
const SPEEDS = [["1 ×", 1], ["5 ×", 5], ["25 ×", 25]] as const;

export class Player {
  /** The time in s. */
  time = 0;
  private duration = 1;
  private pace = 1;
  private speed = 1;
  private playing = false;

  constructor(private readonly moved: () => void) {
    const slider = get<HTMLInputElement>("time");
    slider.oninput = () => this.move((Number(slider.value) / 1000) * this.duration);
    get("play").onclick = () => this.play(!this.playing);
    const speed = get<HTMLSelectElement>("speed");
    speed.replaceChildren(...SPEEDS.map(([label, factor]) => new Option(label, String(factor))));
    speed.onchange = () => (this.speed = Number(speed.value));
    addEventListener("keydown", (event) => {
      const free = event.target === document.body || event.target === get("answer");
      if (event.key === " " && free) {
        event.preventDefault();
        this.play(!this.playing);
      }
    });
    // A page in the background draws no frames.
    document.addEventListener("visibilitychange", () => document.hidden && this.play(false));
  }

  /** Seconds of the run in a second of the viewer. */
  get rate(): number {
    return this.pace * this.speed;
  }

  /** Starts over for another experiment. */
  reset({ pace, begin }: { pace: number; begin: number }, duration: number): void {
    [this.pace, this.time, this.duration] = [pace, begin, duration];
  }

  /** The duration of the run that is shown. */
  of(duration: number): void {
    this.duration = duration;
    this.move(this.time);
  }

  move(time: number): void {
    this.time = Math.min(this.duration, Math.max(0, time));
    const slider = get<HTMLInputElement>("time");
    slider.value = String(Math.round((1000 * this.time) / this.duration));
    slider.setAttribute("aria-valuetext", `${this.time.toFixed(1)} s`);
    get("clock").textContent = `${this.time.toFixed(2)} s`;
    this.moved();
  }

  /** Plays from the current time, at the end from the start. */
  play(on: boolean): void {
    if (on === this.playing) return;
    this.playing = on;
    get("play").textContent = on ? "pause" : "play";
    get("play").setAttribute("aria-pressed", String(on));
    if (!on) return;
    if (this.time >= this.duration) this.time = 0;
    let last = performance.now();
    const step = (now: number) => {
      if (!this.playing) return;
      // After a hitch the motion goes on where it was.
      this.move(this.time + (Math.min(100, now - last) / 1000) * this.rate);
      last = now;
      if (this.time >= this.duration) this.play(false);
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
}

/** Whether the system asks for less motion: nothing then moves until its reader wants it to. */
export const still = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;
