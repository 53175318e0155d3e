// The panels of controls: the network, which A and B share, and the queue and controllers of each.

import type { Json, Table } from "./engine";
import { chosen, type Algorithm, type Schema } from "./schema";
import { around, choice, element, named, parameters, row } from "./controls";
import { isTable, linkName, place, tables, type Place } from "./tree";

export interface Side {
  label: string;
  table: Table;
}

/** Algorithms that a page can't run: laws in Python, a kernel. */
const ELSEWHERE = new Set(["external", "linux"]);
/** Fields that belong to the panel of the network, or to all disciplines. */
const SHARED = ["limit"];

export class Panels {
  /** The paths of settings of network and load that differ between A and B. */
  private differing = new Set<string>();
  private readonly queues: Algorithm[];
  private readonly controllers: Algorithm[];
  private readonly startUps: Algorithm[];

  constructor(private readonly schema: Schema, private readonly changed: () => void, private readonly again: () => void) {
    const here = (each: Algorithm) => !ELSEWHERE.has(each.name);
    this.queues = this.schema.algorithms("Queue", "aqm").filter(here);
    this.controllers = this.schema.algorithms("Control", "cc").filter(here);
    this.startUps = this.schema.algorithms("StartUpConfig", "name");
  }

  /** The watched link: the first with a queue, or with a rate. */
  static watched(table: Table): string {
    const links = tables(table["links"]);
    const found = links.find((link) => link["rate"] !== undefined && link["queue"] !== undefined) ?? links.find((link) => link["rate"] !== undefined);
    return found ? linkName(found) : "";
  }

  /** The queue of the watched link. */
  static queue(side: Side): Table {
    const queue = linkOf(side)[0]?.["queue"];
    return isTable(queue) ? queue : {};
  }

  /** Shows other sides: settings of network and load that differ between them get a control each. */
  open(sides: [Side, Side]): void {
    const [a, b] = sides.map((side) => settings(side));
    const other = new Map(b!.map((each) => [each.path, JSON.stringify(each.at.get() ?? null)]));
    this.differing = new Set(a!.filter((each) => other.get(each.path) !== JSON.stringify(each.at.get() ?? null)).map((each) => each.path));
  }

  network(sides: [Side, Side]): HTMLElement {
    const [a, b] = sides.map((side) => settings(side)) as [Setting[], Setting[]];
    const made = a.filter((each) => !this.differing.has(each.path)).map((each) => {
      const same = b.find((other) => other.path === each.path);
      const set = (value: Json | undefined) => [each, same].forEach((one) => one?.at.set(value));
      return this.setting({ ...each, at: { get: each.at.get, set } });
    });
    return element("div", { className: "parameters" }, ...made);
  }

  private setting({ name, path, sentence, at, whole, fallback }: Setting): HTMLElement {
    return named(path, row(name, sentence, at, around(at.get() ?? fallback, whole), fallback, this.changed));
  }

  side(side: Side): HTMLElement {
    const own = settings(side).filter((each) => this.differing.has(each.path)).map((each) => this.setting(each));
    const made = element("div", {}, element("div", { className: "parameters" }, ...own));
    const link = linkOf(side)[0];
    if (link) {
      if (!isTable(link["queue"])) link["queue"] = {};
      made.append(this.algorithm({ name: "queue", path: `links.${linkName(link)}.queue`, renames: (label) => (side.label = label) }, link["queue"] as Table, "aqm", this.queues, ["limit", "ecn"]));
    }
    for (const { of, ...where } of controls(side.table)) made.append(this.algorithm(where, of, "cc", this.controllers, []));
    made.append(this.startUp(side.table));
    return made;
  }

  /** The start-up of all flows; an empty choice leaves it to their controllers. */
  private startUp(scenario: Table): HTMLElement {
    const path = "tcp.start_up";
    const tcp = isTable(scenario["tcp"]) ? scenario["tcp"] : {};
    if (typeof tcp["start_up"] === "string") tcp["start_up"] = { name: tcp["start_up"] };
    const table = isTable(tcp["start_up"]) ? tcp["start_up"] : {};
    const at = this.startUps.find((each) => each.name === table["name"]);
    const options = [{ value: "", label: "of the controller" }, ...this.startUps.map((each) => ({ value: each.name, label: each.name }))];
    const select = named(path, choice("start-up", options, at?.name ?? "", (value) => {
      scenario["tcp"] = tcp;
      if (value) tcp["start_up"] = { name: value };
      else delete tcp["start_up"];
      this.again();
    }));
    const details = element("details", {}, element("summary", {}, `parameters of ${at?.name ?? ""}`));
    if (at) details.append(parameters(at, { table, path }, [], this.changed));
    return element("div", {}, select, ...(at ? [details] : []));
  }

  private algorithm({ name, path, renames }: Where, table: Table, tag: string, of: Algorithm[], kept: string[]): HTMLElement {
    const at = chosen(table, tag, of);
    const options = of.map((each) => ({ value: each.name, label: each.name }));
    const select = named(`${path}.${tag}`, choice(name, options, at?.name ?? "", (value) => {
      for (const key of Object.keys(table)) if (!kept.includes(key)) delete table[key];
      table[tag] = value;
      renames?.(value);
      this.again();
    }));
    const details = element("details", {}, element("summary", {}, `parameters of ${at?.name ?? ""}`));
    if (at) details.append(parameters(at, { table, path }, SHARED, this.changed));
    return element("div", {}, select, details);
  }
}

/** A name for a reader, and the path of a scenario's field. */
interface Where {
  name: string;
  path: string;
  /** Takes the name of another algorithm as the label of the side. */
  renames?: (label: string) => void;
}

/** A setting of network or load. */
interface Setting extends Where {
  sentence: string;
  at: Place;
  whole: boolean;
  fallback: Json;
}

/** The watched link, or nothing. */
function linkOf(side: Side): Table[] {
  const name = Panels.watched(side.table);
  return tables(side.table["links"]).filter((link) => linkName(link) === name);
}

/** The settings of network and load of a side. */
function settings(side: Side): Setting[] {
  const found: Setting[] = [];
  const add = (where: Where, of: () => Table[], key: string, sentence = "", whole = false, fallback: Json = null) =>
    found.push({ ...where, sentence, at: place(of, key), whole, fallback });
  const links = () => linkOf(side), queues = () => links().map((link) => link["queue"]).filter(isTable);
  const link = `links.${Panels.watched(side.table)}`;
  add({ name: "rate", path: `${link}.rate` }, links, "rate", "Rate of the watched link.");
  add({ name: "delay", path: `${link}.delay` }, links, "delay", "One-way delay. The base RTT is twice this plus the flows' own links.");
  add({ name: "buffer", path: `${link}.queue.limit` }, queues, "limit", "The queue's limit.", false, "1000 packets");
  tables(side.table["flows"]).forEach((group, i) => {
    const same = () => tables(side.table["flows"]).slice(i, i + 1), name = String(group["name"]), path = `flows.${name}`;
    const traffic = isTable(group["traffic"]) ? group["traffic"] : {};
    add({ name: `flows: ${name}`, path: `${path}.count` }, same, "count", `Traffic: ${String(traffic["kind"] ?? "bulk")}.`, true, 1);
    for (const key of ["rate", "size", "gap", "every"]) {
      if (traffic[key] === undefined) continue;
      add({ name: `${name}: ${key}`, path: `${path}.traffic.${key}` }, () => same().map((each) => each["traffic"]).filter(isTable), key);
    }
  });
  add({ name: "duration", path: "duration" }, () => [side.table], "duration", "Of the run.");
  return found;
}

/** The tables that select a controller: that of all flows, and those of groups with their own. */
function controls(table: Table): (Where & { of: Table })[] {
  const found: (Where & { of: Table })[] = [];
  const groups = tables(table["flows"]);
  const own = groups.filter((group) => isTable(group["tcp"]) && isTable(group["tcp"]["control"]));
  if (own.length < groups.length) {
    const tcp = isTable(table["tcp"]) ? table["tcp"] : (table["tcp"] = {});
    if (!isTable(tcp["control"])) tcp["control"] = { cc: "cubic" };
    found.push({ name: own.length ? "controller of other flows" : "controller", path: "tcp.control", of: tcp["control"] as Table });
  }
  for (const group of own) found.push({ name: `controller of ${String(group["name"])}`, path: `flows.${String(group["name"])}.tcp.control`, of: (group["tcp"] as Table)["control"] as Table });
  return found;
}
