// A worker that runs the engine. It handles one question at a time. A newer question replaces pending ones of the same kind.

import type { Ask, Replies } from "./protocol";

declare const WORKER: string;

/** Time limit of a question in ms, after which its worker is restarted. */
const LONGEST = 20_000;

/** The error of a question that a newer one replaced. */
export class Replaced extends Error {}

interface Waiting {
  ask: Ask;
  resolve(told: any): void;
  reject(error: Error): void;
}

export class Lab {
  private worker = this.start();
  private busy: Waiting | undefined;
  private waiting: Waiting[] = [];
  private timer = 0;

  constructor(private readonly module: WebAssembly.Module) {
    this.worker.postMessage({ module });
  }

  ask<K extends Ask["kind"]>(ask: Extract<Ask, { kind: K }>): Promise<Replies[K]> {
    return new Promise((resolve, reject) => {
      const older = this.waiting.findIndex((each) => each.ask.kind === ask.kind);
      if (older >= 0) this.waiting.splice(older, 1)[0]?.reject(new Replaced("a newer question took its place"));
      this.waiting.push({ ask, resolve, reject });
      this.next();
    });
  }

  private start(): Worker {
    const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
    const worker = new Worker(url);
    URL.revokeObjectURL(url);
    worker.onmessage = ({ data }) => this.done(data);
    worker.onerror = (event) => this.done({ refused: event.message, trapped: true });
    return worker;
  }

  private restart(): void {
    this.worker.terminate();
    this.worker = this.start();
    this.worker.postMessage({ module: this.module });
  }

  private next(): void {
    if (this.busy) return;
    this.busy = this.waiting.shift();
    if (!this.busy) return;
    this.timer = window.setTimeout(() => {
      this.restart();
      this.done({ refused: `expected an answer within ${LONGEST / 1000} s, got none` });
    }, LONGEST);
    this.worker.postMessage({ ask: this.busy.ask });
  }

  private done(data: { told?: unknown; refused?: string; trapped?: boolean }): void {
    window.clearTimeout(this.timer);
    const { busy } = this;
    this.busy = undefined;
    if (data.trapped) {
      this.restart();
      busy?.reject(new Error(`expected a run that a page has memory for, got one that needs more (${data.refused})`));
    } else if (data.refused !== undefined) busy?.reject(new Error(data.refused));
    else busy?.resolve(data.told);
    this.next();
  }
}
