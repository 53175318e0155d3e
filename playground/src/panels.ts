// The panels of controls: the network, which A and B share, and the queue and controllers of each.

import type { Json, Table } from "./engine";
import { chosen, type Algorithm, type Schema } from "./schema";
import { around, choice, element, parameters, row } from "./controls";
import { isTable, linkName, place, tables } from "./tree";

export interface Side {
  label: string;
  table: Table;
}

/** Algorithms that a page can't run: laws in Python, a kernel. */
const ELSEWHERE = new Set(["external", "linux"]);
/** Fields that belong to the panel of the network, or to all disciplines. */
const SHARED = ["limit"];

export class Panels {
  private readonly queues: Algorithm[];
  private readonly controllers: Algorithm[];

  constructor(private readonly schema: Schema, private readonly changed: () => void, private readonly again: () => void) {
    const here = (each: Algorithm) => !ELSEWHERE.has(each.name);
    this.queues = this.schema.algorithms("Queue", "aqm").filter(here);
    this.controllers = this.schema.algorithms("Control", "cc").filter(here);
  }

  /** The watched link: the first with a queue, or with a rate. */
  static watched(table: Table): string {
    const links = tables(table["links"]);
    const found = links.find((link) => link["rate"] !== undefined && link["queue"] !== undefined) ?? links.find((link) => link["rate"] !== undefined);
    return found ? linkName(found) : "";
  }

  /** The queue of the watched link. */
  static queue(side: Side): Table {
    const queue = Panels.link(side)[0]?.["queue"];
    return isTable(queue) ? queue : {};
  }

  private static link(side: Side): Table[] {
    const name = Panels.watched(side.table);
    return tables(side.table["links"]).filter((link) => linkName(link) === name);
  }

  network(sides: [Side, Side]): HTMLElement {
    const links = () => sides.flatMap(Panels.link);
    const queues = () => links().map((link) => link["queue"]).filter(isTable);
    const quantity = (name: string, of: () => Table[], key: string, sentence = "", whole = false, fallback: Json = null) => {
      const at = place(of, key);
      return row(name, sentence, at, around(at.get() ?? fallback, whole), fallback, this.changed);
    };
    const made = element("div", { className: "parameters" },
      quantity("rate", links, "rate", "Rate of the watched link."),
      quantity("delay", links, "delay", "One-way delay. The base RTT is twice this plus the flows' own links."),
      quantity("buffer", queues, "limit", "The queue's limit.", false, "1000 packets"));
    const groups = tables(sides[0].table["flows"]);
    groups.forEach((group, i) => {
      const same = () => sides.map((side) => tables(side.table["flows"])[i]).filter((each): each is Table => each !== undefined);
      const traffic = isTable(group["traffic"]) ? group["traffic"] : {};
      made.append(quantity(`flows: ${String(group["name"])}`, same, "count", `Traffic: ${String(traffic["kind"] ?? "bulk")}.`, true, 1));
      for (const key of ["rate", "size", "gap", "every"]) {
        if (traffic[key] === undefined) continue;
        const loads = () => same().map((each) => each["traffic"]).filter(isTable);
        made.append(quantity(`${String(group["name"])}: ${key}`, loads, key));
      }
    });
    const roots = () => sides.map((side) => side.table);
    made.append(quantity("duration", roots, "duration", "Of the run."));
    return made;
  }

  side(side: Side): HTMLElement {
    const made = element("div", {});
    const link = Panels.link(side)[0];
    if (link) {
      if (!isTable(link["queue"])) link["queue"] = {};
      made.append(this.algorithm("queue", link["queue"] as Table, "aqm", this.queues, ["limit", "ecn"]));
    }
    for (const { name, of } of controls(side.table)) made.append(this.algorithm(name, of, "cc", this.controllers, []));
    return made;
  }

  private algorithm(name: string, table: Table, tag: string, of: Algorithm[], kept: string[]): HTMLElement {
    const at = chosen(table, tag, of);
    const options = of.map((each) => ({ value: each.name, label: each.name }));
    const select = choice(name, options, at?.name ?? "", (value) => {
      for (const key of Object.keys(table)) if (!kept.includes(key)) delete table[key];
      table[tag] = value;
      this.again();
    });
    const details = element("details", {}, element("summary", {}, `parameters of ${at?.name ?? ""}`));
    if (at) details.append(parameters(at, table, SHARED, this.changed));
    return element("div", {}, select, details);
  }
}

/** The tables that select a controller: that of all flows, and those of groups with their own. */
function controls(table: Table): { name: string; of: Table }[] {
  const found: { name: string; of: Table }[] = [];
  const groups = tables(table["flows"]);
  const own = groups.filter((group) => isTable(group["tcp"]) && isTable(group["tcp"]["control"]));
  if (own.length < groups.length) {
    const tcp = isTable(table["tcp"]) ? table["tcp"] : (table["tcp"] = {});
    if (!isTable(tcp["control"])) tcp["control"] = { cc: "cubic" };
    found.push({ name: own.length ? "controller of other flows" : "controller", of: tcp["control"] as Table });
  }
  for (const group of own) found.push({ name: `controller of ${String(group["name"])}`, of: (group["tcp"] as Table)["control"] as Table });
  return found;
}
