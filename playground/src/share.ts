// The state of the page in its address. It is compressed, so that a scenario fits. Content of links is untrusted: it is decoded within
// limits here, and the engine checks it as any scenario.

const MOST = 200_000;

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream, most: number): Promise<Uint8Array> {
  const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, BlobPart>).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error(`link: expected at most ${most} bytes of scenario, got more`);
    }
    parts.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export function bytesOf(base64: string): Uint8Array {
  const text = atob(base64.replace(/-/g, "+").replace(/_/g, "/"));
  // A call for each letter of the engine would take a phone half a second.
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function inflate(bytes: Uint8Array, most: number): Promise<Uint8Array> {
  return through(bytes, new DecompressionStream("gzip"), most);
}

export async function toLink(state: object): Promise<string> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("gzip"), MOST);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export async function fromLink(text: string): Promise<any> {
  if (text.length > MOST) throw new Error(`link: expected at most ${MOST} characters, got ${text.length}`);
  let bytes: Uint8Array;
  try {
    bytes = await inflate(bytesOf(text), MOST);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("link:")) throw error;
    throw new Error("link: expected a scenario as this page writes it, got something else");
  }
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new Error("link: expected a scenario as JSON, got something else");
  }
}
