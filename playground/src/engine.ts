// The engine. Input: a question as JSON. Output: an answer as JSON with columns of numbers. crates/web/src/lib.rs lists the questions.

interface Exports {
  memory: WebAssembly.Memory;
  question(bytes: number): number;
  ask(): void;
  text(): number;
  text_bytes(): number;
  numbers(): number;
  numbers_count(): number;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Table = { [key: string]: Json };
/** A column: the index of its first number, and its length. */
export type Place = [number, number];

export interface Answer {
  json: any;
  numbers: Float64Array;
}

export class Engine {
  private constructor(private readonly exports: Exports) {}

  static async start(module: WebAssembly.Module): Promise<Engine> {
    const instance = await WebAssembly.instantiate(module, {});
    return new Engine(instance.exports as unknown as Exports);
  }

  /** Throws the engine's error message. */
  ask(question: object): Answer {
    const { exports } = this;
    const bytes = new TextEncoder().encode(JSON.stringify(question));
    const at = exports.question(bytes.length);
    new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
    exports.ask();
    const text = new Uint8Array(exports.memory.buffer, exports.text(), exports.text_bytes());
    const json = JSON.parse(new TextDecoder().decode(text));
    if (json.error !== undefined) throw new Error(json.error);
    const numbers = new Float64Array(exports.memory.buffer, exports.numbers(), exports.numbers_count()).slice();
    return { json, numbers };
  }
}

export function column(answer: Answer, place: Place): Float64Array {
  return answer.numbers.subarray(place[0], place[0] + place[1]);
}
