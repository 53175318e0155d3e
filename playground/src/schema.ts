// Parameters of algorithms, as the engine's schema has them: names, sentences, units, defaults and ranges.

import type { Json, Table } from "./engine";
import { isTable, quantity } from "./tree";

export interface Parameter {
  name: string;
  sentence: string;
  kind: "number" | "whole" | "quantity" | "switch" | "choice" | "text";
  default: Json;
  choices: string[];
  /** Where a slider begins and ends; `undefined`: there is none. */
  range?: { low: number; high: number; unit: string; logarithmic: boolean };
}

export interface Algorithm {
  name: string;
  sentence: string;
  parameters: Parameter[];
}

const NUMBER = String.raw`(-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)`;

/** The bounds that a sentence states: "0 to 1", "above 0 and up to 1", "at least 1 us", "0 or more". */
export function bounds(sentence: string): { low?: number; high?: number } {
  const find = (pattern: string) => {
    const found = new RegExp(pattern, "i").exec(sentence);
    return found?.[1] === undefined ? undefined : Number(found[1]);
  };
  const between = new RegExp(`\\b${NUMBER}(?: [a-zA-Z/]+)? to ${NUMBER}\\b`, "i").exec(sentence);
  if (between) return { low: Number(between[1]), high: Number(between[2]) };
  const low = find(`(?:above|at least|more than) ${NUMBER}`) ?? find(`\\b${NUMBER} or more`);
  const high = find(`(?:up to|at most|below|less than) ${NUMBER}`);
  return { ...(low === undefined ? {} : { low }), ...(high === undefined ? {} : { high }) };
}

const QUANTITIES = new Set(["Duration", "Bytes", "Rate", "Amount"]);

export class Schema {
  constructor(private readonly root: any) {}

  private resolved(schema: any): any {
    const name = typeof schema?.$ref === "string" ? schema.$ref.split("/").pop() : undefined;
    return name ? { ...this.root.$defs[name], ...schema, definition: name } : schema;
  }

  /** The algorithms of a definition, which are told apart by the constant at `tag`. */
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
      const range = this.range(parameter, schema);
      if (range) parameter.range = range;
    }
    return parameter;
  }

  /** Three octaves of ten around the default, cut off where the schema or the sentence does. */
  private range(parameter: Parameter, schema: any): Parameter["range"] {
    const start = quantity(parameter.default);
    if (!start) return undefined;
    const said = bounds(parameter.sentence);
    const least = Math.max(said.low ?? -Infinity, schema.minimum ?? -Infinity);
    const most = Math.min(said.high ?? Infinity, schema.maximum ?? Infinity);
    if (start.value > 0) {
      const high = Math.min(most, start.value * 30), low = Math.max(least, start.value / 30);
      return low < high ? { low: low > 0 ? low : start.value / 30, high, unit: start.unit, logarithmic: true } : undefined;
    }
    if (Number.isFinite(least) && Number.isFinite(most) && least < most && most <= 1000) {
      return { low: least, high: most, unit: start.unit, logarithmic: false };
    }
    return undefined;
  }
}

/** The algorithm that a table chooses. */
export function chosen(table: Table | undefined, tag: string, of: Algorithm[]): Algorithm | undefined {
  const name = isTable(table) ? table[tag] : undefined;
  return of.find((each) => each.name === name) ?? of[0];
}
