// Scenarios as trees: links and flows by name, quantities with their units.

import type { Json, Table } from "./engine";

export const isTable = (value: unknown): value is Table => typeof value === "object" && value !== null && !Array.isArray(value);

export function tables(value: Json | undefined): Table[] {
  return Array.isArray(value) ? value.filter(isTable) : [];
}

export const copy = <T>(value: T): T => structuredClone(value);

/** The name of a link: its own, or one made of its ends. */
export function linkName(link: Table): string {
  return typeof link["name"] === "string" ? link["name"] : `${String(link["from"])}->${String(link["to"])}`;
}

/** A number with its unit. */
export interface Quantity {
  value: number;
  unit: string;
}

/** Parses a number, or a quantity such as "10 Mbit/s"; `undefined` for other values. */
export function quantity(value: Json | undefined): Quantity | undefined {
  if (typeof value === "number") return { value, unit: "" };
  const found = typeof value === "string" ? /^\s*([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*([a-zA-Z%/]*)\s*$/i.exec(value) : null;
  return found ? { value: Number(found[1]), unit: found[2] ?? "" } : undefined;
}

export function written({ value, unit }: Quantity): Json {
  return unit ? `${value} ${unit}` : value;
}

/** Rounds to three significant digits, so that the values of a slider are readable. */
export const rounded = (value: number): number => Number(value.toPrecision(3));

/** A value in a tree that a control shows and changes. */
export interface Place {
  get(): Json | undefined;
  set(value: Json | undefined): void;
}

/** The same key in several tables. All are set, the first is shown. */
export function place(of: () => Table[], key: string): Place {
  return {
    get: () => of()[0]?.[key],
    set: (value) => {
      for (const table of of()) {
        if (value === undefined) delete table[key];
        else table[key] = value;
      }
    },
  };
}
