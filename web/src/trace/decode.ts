// The binary answer of `api/timeline/slices`, as arrays that look into the answer itself.

import type { Slices, SlicesHead } from "./types";

export interface SlicesAnswer {
  head: SlicesHead;
  slices: Slices;
}

const TYPES = {
  f64: Float64Array,
  u32: Uint32Array,
  i32: Int32Array,
  u16: Uint16Array,
  u8: Uint8Array,
} as const;

const NEEDED = ["track", "row", "start", "dur", "name", "count", "busy", "id"] as const;

/** Reads an answer; nothing is copied. */
export function decodeSlices(buffer: ArrayBuffer): SlicesAnswer {
  const headLength = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, headLength));
  const head = JSON.parse(text) as SlicesHead;
  const arrays: Record<string, ArrayBufferView> = {};
  let offset = alignTo8(4 + headLength);
  for (const [name, type, length] of head.arrays) {
    const Kind = TYPES[type as keyof typeof TYPES];
    if (!Kind) throw new Error(`The timeline holds an array of unknown type ${type}.`);
    arrays[name] = new Kind(buffer, offset, length);
    offset = alignTo8(offset + length * Kind.BYTES_PER_ELEMENT);
  }
  for (const name of NEEDED) {
    if (!arrays[name]) throw new Error(`The timeline lacks its array "${name}".`);
  }
  return { head, slices: arrays as unknown as Slices };
}

function alignTo8(bytes: number): number {
  return (bytes + 7) & ~7;
}
