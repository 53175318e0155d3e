// Parameters of algorithms from the engine's schema: names, summaries, units, defaults and ranges.

import type { Json, Table } from "./engine";
import { isTable, quantity, type Quantity } from "./tree";

export interface Parameter {
  name: string;
  sentence: string;
  kind: "number" | "whole" | "quantity" | "switch" | "choice" | "text";
  default: Json;
  choices: string[];
  /** The range of a slider; `undefined` without a slider. */
  range?: { low: number; high: number; unit: string; logarithmic: boolean } | undefined;
}

export interface Algorithm {
  name: string;
  sentence: string;
  parameters: Parameter[];
}

const NUMBER = String.raw`(-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)(?: (ns|us|ms|s|B|kB|MB|GB|kbit\/s|Mbit\/s|Gbit\/s)\b)?`;

/** The factor of each unit relative to the first of its kind. */
const UNITS: Record<string, number> = {
  ns: 1, us: 1e3, ms: 1e6, s: 1e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
};

/** Parses a number in a sentence and converts it to `unit`. */
function inUnit(number: string | undefined, own: string | undefined, unit: string): number | undefined {
  if (number === undefined) return undefined;
  return own && own !== unit ? (Number(number) * (UNITS[own] ?? 1)) / (UNITS[unit] ?? 1) : Number(number);
}

/** The bounds in `unit` that a sentence states: "0 to 1", "above 0 and up to 1", "at least 1 us", "0 or more". */
export function bounds(sentence: string, unit = ""): { low?: number; high?: number } {
  const find = (pattern: string) => {
    const found = new RegExp(pattern, "i").exec(sentence);
    return inUnit(found?.[1], found?.[2], unit);
  };
  const between = new RegExp(`(?<![\\w.-])${NUMBER} to ${NUMBER}`, "i").exec(sentence);
  if (between) {
    const high = inUnit(between[3], between[4], unit)!;
    return { low: inUnit(between[1], between[2] ?? between[4], unit)!, high };
  }
  const low = find(`(?:above|at least|more than) ${NUMBER}`) ?? find(`\\b${NUMBER} or more`);
  const high = find(`(?:up to|at most|below|less than) ${NUMBER}`);
  return { ...(low === undefined ? {} : { low }), ...(high === undefined ? {} : { high }) };
}

/** The default that a sentence names if the schema has none: "default 15 ms", "; 22, 22, 25 in fit". */
function named(sentence: string): Quantity | undefined {
  const found = new RegExp(`(?:default "?|; )${NUMBER}`, "i").exec(sentence);
  return found?.[1] === undefined ? undefined : { value: Number(found[1]), unit: found[2] ?? "" };
}

/** The range of a slider without a usable default: by unit, or by the quantity in the description. */
const REACH: [RegExp, number][] = [[/percent/, 100], [/packets|flows/i, 200], [/probability/, 1], [/./, 100]];
const REACH_OF_UNITS: Record<string, number> = { B: 3000, s: 1, ms: 1000, packets: 200 };

const QUANTITIES = new Set(["Duration", "Bytes", "Rate", "Amount", "Limit"]);

export class Schema {
  constructor(private readonly root: any) {}

  private resolved(schema: any): any {
    const name = typeof schema?.$ref === "string" ? schema.$ref.split("/").pop() : undefined;
    return name ? { ...this.root.$defs[name], ...schema, definition: name } : schema;
  }

  /** The algorithms of a definition, which the constant at `tag` distinguishes. */
  algorithms(definition: string, tag: string): Algorithm[] {
    const forms: any[] = this.root.$defs[definition].oneOf;
    const tagged = forms.filter((form) => typeof form.properties?.[tag]?.const === "string");
    return tagged.map((form) => ({
      name: form.properties[tag].const,
      sentence: form.description ?? "",
      parameters: Object.entries<any>(form.properties).filter(([name]) => name !== tag).map(([name, each]) => this.parameter(name, each)),
    }));
  }

  private parameter(name: string, written: any): Parameter {
    const schema = this.resolved(written);
    const sentence = String(written.description ?? schema.description ?? "").replace(/\s+/g, " ");
    const choices: string[] = schema.enum ?? (schema.oneOf ?? []).map((each: any) => each.const).filter((each: unknown) => typeof each === "string");
    const parameter: Parameter = { name, sentence, kind: "text", default: written.default ?? null, choices };
    if (schema.type === "boolean") parameter.kind = "switch";
    else if (choices.length) parameter.kind = "choice";
    else if (schema.type === "number" || schema.type === "integer") parameter.kind = schema.type === "integer" ? "whole" : "number";
    else if (QUANTITIES.has(schema.definition)) parameter.kind = "quantity";
    if (["number", "whole", "quantity"].includes(parameter.kind)) {
      parameter.range = this.range(parameter, schema);
    }
    return parameter;
  }

  /** From a thirtieth to thirty times the default, within the bounds of the schema and the description. */
  private range(parameter: Parameter, schema: any): NonNullable<Parameter["range"]> {
    const given = quantity(parameter.default);
    const start = given && given.value > 0 ? given : (named(parameter.sentence) ?? given ?? { value: 0, unit: "" });
    const unit = given?.unit || start.unit;
    const said = bounds(parameter.sentence, unit);
    const least = Math.max(said.low ?? -Infinity, schema.minimum ?? -Infinity);
    const most = Math.min(said.high ?? Infinity, schema.maximum ?? Infinity);
    if (start.value > 0) {
      const high = Math.min(most, start.value * 30), low = Math.max(least, start.value / 30);
      if (low < high && start.value >= low && start.value <= high) return { low: low > 0 ? low : start.value / 30, high, unit, logarithmic: true };
    }
    const reach = REACH_OF_UNITS[unit] ?? REACH.find(([words]) => words.test(parameter.sentence))?.[1] ?? 100;
    const low = Math.min(start.value, Number.isFinite(least) ? least : 0), high = Math.min(most, Math.max(low, 0) + reach);
    return { low, high, unit, logarithmic: false };
  }
}

/** The algorithm that a table selects. */
export function chosen(table: Table | undefined, tag: string, of: Algorithm[]): Algorithm | undefined {
  const name = isTable(table) ? table[tag] : undefined;
  return of.find((each) => each.name === name) ?? of[0];
}
