// A story: a question, a prediction, the answer in motion, and what to try then.

import { element } from "./controls";
import { get, NAMES } from "./plots";
import { digits, measured } from "./results";
import type { Result } from "./protocol";

export interface Story {
  /** A name of a word or two. */
  short: string;
  question: string;
  /** Seconds of the run in a second of the viewer, and the time in s at which the motion starts. */
  pace: number;
  begin: number;
  answer: string;
  try: string;
  /** The controls to try, by the paths of their fields. Without a side they are those of both. */
  knobs: { path: string; side?: "a" | "b" }[];
  choices: { text: string; right?: boolean }[];
  /** Measures of the answer, which mentions them as `{a.0}`. */
  figures: { label: string; unit: string; path: string; scale: number }[];
}

export class Teller {
  private story: Story | undefined;
  private chosen: number | undefined;
  private results: [Result, Result] | undefined;
  /** The answer with the numbers of the story's own run; what its reader changes does not change it. */
  private answer: string | undefined;

  /** `revealed` is called when the reader has predicted. */
  constructor(private readonly revealed: () => void) {
    get("show").onclick = () => this.choose(-1);
  }

  /** Whether the reader has still to predict. */
  get asking(): boolean {
    return this.story !== undefined && this.chosen === undefined;
  }

  /** Shows a story; `told` if its reader comes with settings of their own. */
  open(story: Story | undefined, title: string, told: boolean): void {
    [this.story, this.chosen, this.results] = [story, told ? -1 : undefined, undefined];
    this.answer = told ? "" : undefined;
    get("title").textContent = title;
    get("question").textContent = story?.question ?? "";
    get("choices").replaceChildren(...(story?.choices ?? []).map((choice, i) => {
      const button = element("button", { type: "button" }, choice.text);
      button.onclick = () => this.choose(i);
      return button;
    }));
    this.paint();
  }

  /** Takes the controls to try from their panels. */
  place(): void {
    const found = (this.story?.knobs ?? []).map(({ path, side }) => {
      const panel = get(side ? `side-${side}` : "network");
      const row = [...panel.querySelectorAll<HTMLElement>("[data-path]")].find((each) => each.dataset["path"] === path);
      if (!row || !side) return row;
      row.dataset["side"] = side;
      row.querySelector("label")!.prepend(element("b", { className: side }, `${side.toUpperCase()} `));
      return row;
    });
    get("knobs").replaceChildren(...found.filter((row) => row !== undefined));
  }

  private choose(i: number): void {
    if (!this.asking) return;
    this.chosen = i;
    this.paint();
    this.revealed();
    get("answer").focus({ preventScroll: true });
  }

  fill(results: [Result, Result]): void {
    this.results = results;
    if (this.story) this.answer ??= this.told(this.story.answer);
    this.paint();
  }

  private paint(): void {
    const { story, chosen, asking } = this;
    document.body.classList.toggle("asking", asking);
    get("ask").hidden = story === undefined;
    get("show").hidden = !asking;
    get("answer").hidden = asking || story === undefined;
    get("choices").querySelectorAll("button").forEach((button, i) => {
      const right = story!.choices[i]!.right === true;
      button.disabled = !asking;
      button.setAttribute("aria-pressed", String(chosen === i));
      button.className = asking ? "" : right ? "right" : chosen === i ? "wrong" : "";
      button.textContent = `${asking ? "" : right ? "✓ " : chosen === i ? "✗ " : ""}${story!.choices[i]!.text}`;
    });
    if (asking || !story) return;
    const right = chosen !== undefined && story.choices[chosen]?.right === true;
    get("verdict").textContent = chosen === -1 ? "" : right ? "Yes." : "Not quite.";
    get("told").textContent = this.answer ?? "";
    get("try").textContent = story.try;
    get("figures").replaceChildren(...(this.results ? this.table(story) : []));
  }

  private number(side: number, figure: number): string {
    const of = this.story!.figures[figure];
    return of ? digits(measured(this.results![side]!.record, of)) : "";
  }

  /** The answer with the numbers of this run. */
  private told(answer: string): string {
    return answer.replace(/\{([ab])\.([0-9])\}/g, (_, side, figure) => this.number(side === "a" ? 0 : 1, Number(figure)));
  }

  private table(story: Story): HTMLElement[] {
    return story.figures.map((figure, i) => element("div", {},
      element("span", {}, figure.label),
      ...NAMES.map((name, side) => element("b", { className: name.toLowerCase() }, `${name} ${this.number(side, i)} ${figure.unit}`))));
  }
}
