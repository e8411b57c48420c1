import { describe, expect, it } from "vitest";
import { decodeSlices } from "./decode";

const ARRAYS: [name: string, type: string, data: ArrayBufferView & { length: number }][] = [
  ["track", "u16", Uint16Array.of(1, 1, 2)],
  ["row", "u16", Uint16Array.of(0, 1, 0)],
  ["start", "f64", Float64Array.of(0, 10.5, 2 ** 50)],
  ["dur", "f64", Float64Array.of(5, 6, 7)],
  ["name", "u32", Uint32Array.of(3, 4, 3)],
  ["count", "u32", Uint32Array.of(1, 20, 1)],
  ["busy", "f64", Float64Array.of(5, 2, 7)],
  ["id", "i32", Int32Array.of(8, -1, 9)],
];

/** An answer as the server writes it. */
function encode(arrays: typeof ARRAYS): ArrayBuffer {
  const head = { slices: 3, names: { 3: "größe", 4: "<b>" }, resolution_ns: 64 };
  const listed = arrays.map(([name, type, data]) => [name, type, data.length]);
  const text = new TextEncoder().encode(JSON.stringify({ ...head, arrays: listed }));
  const padding = (-(4 + text.length) % 8) + 8;
  const bytes: number[] = [0, 0, 0, 0, ...text, ...Array(padding % 8).fill(32)];
  const length = new Uint8Array(Uint32Array.of(bytes.length - 4).buffer);
  bytes.splice(0, 4, ...length);
  for (const [, , data] of arrays) {
    bytes.push(...new Uint8Array(data.buffer));
    while (bytes.length % 8) bytes.push(0);
  }
  return Uint8Array.from(bytes).buffer;
}

describe("an answer", () => {
  it("is read as it was written", () => {
    const { head, slices } = decodeSlices(encode(ARRAYS));
    expect(head.names).toEqual({ 3: "größe", 4: "<b>" });
    expect([...slices.start]).toEqual([0, 10.5, 2 ** 50]);
    expect([...slices.count]).toEqual([1, 20, 1]);
    expect([...slices.id]).toEqual([8, -1, 9]);
  });
  it("that lacks something is refused in a sentence", () => {
    expect(() => decodeSlices(encode(ARRAYS.slice(0, 7)))).toThrow('lacks its array "id"');
  });
});
