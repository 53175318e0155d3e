// Controls made from the schema: a slider and a text field per quantity. The engine checks ranges and supplies error messages.

import type { Json, Table } from "./engine";
import type { Algorithm, Parameter } from "./schema";
import { quantity, rounded, written, type Place } from "./tree";

let count = 0;

export function element<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Partial<HTMLElementTagNameMap[K]> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** A control with the path of its field, at which errors of the field appear. */
export function named(path: string, control: HTMLElement): HTMLElement {
  control.dataset["path"] = path;
  return control;
}

export interface Range {
  low: number;
  high: number;
  unit: string;
  logarithmic: boolean;
  whole?: boolean;
}

/** The range of a slider around a value: from a tenth to ten times the value, and from 1 for what is counted. */
export function around(value: Json | undefined, whole = false): Range | undefined {
  const start = quantity(value);
  if (!start || start.value <= 0) return undefined;
  const counted = whole || start.unit === "packets";
  return { low: counted ? 1 : start.value / 10, high: start.value * 10, unit: start.unit, logarithmic: true, whole: counted };
}

const STEPS = 1000;

function slider(range: Range, place: Place, name: string, changed: () => void, show: () => void): HTMLInputElement {
  const { low, high, logarithmic } = range;
  const toStep = (value: number) => STEPS * (logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
  const toValue = (step: number) => {
    const value = logarithmic ? low * (high / low) ** (step / STEPS) : low + ((high - low) * step) / STEPS;
    return range.whole ? Math.round(value) : rounded(value);
  };
  const input = element("input", { type: "range", min: "0", max: String(STEPS), step: "1" });
  input.setAttribute("aria-label", name);
  const speak = (value: number) => input.setAttribute("aria-valuetext", `${value} ${range.unit}`.trim());
  input.oninput = () => {
    const value = toValue(Number(input.value));
    place.set(written({ value, unit: range.unit }));
    speak(value);
    show();
    changed();
  };
  const start = quantity(place.get());
  if (start && start.unit === range.unit) {
    input.value = String(toStep(start.value));
    speak(start.value);
  }
  return input;
}

/** A row: name, slider if there is a range, text field, and a sentence. */
export function row(name: string, sentence: string, place: Place, range: Range | undefined, fallback: Json, changed: () => void): HTMLElement {
  const id = `control-${++count}`;
  const text = element("input", { type: "text", id, size: 12, spellcheck: false, autocomplete: "off" });
  const show = () => {
    const value = place.get();
    text.value = value === undefined ? "" : typeof value === "string" || typeof value === "number" ? String(value) : JSON.stringify(value);
    text.placeholder = fallback === null ? "automatic" : String(fallback);
  };
  text.onchange = () => {
    place.set(read(text.value, place.get() ?? fallback));
    changed();
  };
  show();
  const own: Place = { get: () => place.get() ?? fallback, set: place.set };
  const made = element("div", { className: "row" }, element("label", { htmlFor: id }, name));
  if (range) made.append(slider(range, own, name, changed, show));
  made.append(text);
  if (sentence) {
    const words = element("small", { id: `${id}-sentence` }, sentence);
    text.setAttribute("aria-describedby", words.id);
    made.append(words);
  }
  return made;
}

/** Parses a user's input as the type of the current value: a number, JSON, or text. A number takes the current unit. Empty means the default. */
function read(text: string, like: Json | undefined): Json | undefined {
  const trimmed = text.trim();
  if (!trimmed) return undefined;
  if (/^[[{]/.test(trimmed)) {
    try {
      return JSON.parse(trimmed) as Json;
    } catch {
      return trimmed;
    }
  }
  if (!Number.isFinite(Number(trimmed))) return trimmed;
  const unit = typeof like === "string" ? quantity(like)?.unit : undefined;
  return unit ? `${trimmed} ${unit}` : typeof like === "string" ? trimmed : Number(trimmed);
}

export function choice(name: string, options: { value: string; label: string }[], at: string, changed: (value: string) => void): HTMLElement {
  const id = `control-${++count}`;
  const select = element("select", { id });
  for (const option of options) select.append(new Option(option.label, option.value, false, option.value === at));
  select.onchange = () => changed(select.value);
  return element("div", { className: "row" }, element("label", { htmlFor: id }, name), select);
}

export function toggle(name: string, sentence: string, place: Place, fallback: boolean, changed: () => void): HTMLElement {
  const id = `control-${++count}`;
  const box = element("input", { type: "checkbox", id, checked: (place.get() ?? fallback) === true });
  box.onchange = () => {
    place.set(box.checked);
    changed();
  };
  const made = element("div", { className: "row" }, element("label", { htmlFor: id }, name), box);
  if (sentence) made.append(element("small", {}, sentence));
  return made;
}

/** A control for a parameter of an algorithm. */
export function parameter(of: Parameter, place: Place, changed: () => void): HTMLElement {
  if (of.kind === "switch") return toggle(of.name, of.sentence, place, of.default === true, changed);
  if (of.kind === "choice") {
    const options = of.choices.map((value) => ({ value, label: value }));
    const made = choice(of.name, options, String(place.get() ?? of.default), (value) => {
      place.set(value);
      changed();
    });
    made.append(element("small", {}, of.sentence));
    return made;
  }
  const range = of.range && { ...of.range, whole: of.kind === "whole" || of.range.unit === "packets" };
  // If the value is far from the default, as in some papers, the slider is centered on the value.
  const value = quantity(place.get());
  const inside = !value || !range || (value.unit === range.unit && value.value >= range.low && value.value <= range.high);
  return row(of.name, of.sentence, place, inside ? range : around(place.get(), of.kind === "whole"), of.default, changed);
}

/** The parameters of an algorithm, explicitly set ones first. */
export function parameters(of: Algorithm, { table, path }: { table: Table; path: string }, skip: string[], changed: () => void): HTMLElement {
  const shown = of.parameters.filter((each) => !skip.includes(each.name));
  const order = [...shown.filter((each) => each.name in table), ...shown.filter((each) => !(each.name in table))];
  const made = order.map((each) => named(`${path}.${each.name}`, parameter(each, {
    get: () => table[each.name],
    set: (value) => {
      if (value === undefined) delete table[each.name];
      else table[each.name] = value;
    },
  }, changed)));
  return element("div", { className: "parameters" }, element("p", {}, of.sentence), ...made);
}
