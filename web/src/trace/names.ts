// Names by code, with what is worked out once per name: colour, width, whether a search finds it.

import { colourOf, DIM } from "./colours";
import type { Track } from "./types";

/** Characters below which a name tells nothing. */
const MIN_CHARACTERS = 2;
const MAX_WIDTHS = 50_000;

/** Stands for "not yet" in a table of colours: there are fewer colours. */
export const UNKNOWN = 255;

export class Names {
  private readonly texts = new Map<number, string>();
  private readonly shortNames = new Map<number, string>();
  private readonly tables = new Map<string, Uint8Array>();
  private readonly widths = new Map<string, number>();
  private query = "";
  private highest = 0;

  add(names: Record<string, string>, short: Record<string, string> = {}): void {
    for (const [key, name] of Object.entries(short)) this.shortNames.set(Number(key), name);
    for (const [key, name] of Object.entries(names)) {
      const code = Number(key);
      this.texts.set(code, name);
      this.highest = Math.max(this.highest, code);
    }
  }

  text(code: number): string {
    return this.texts.get(code) ?? "";
  }

  /** What is written on a slice: kernels go without return types and arguments. */
  short(code: number): string {
    return this.shortNames.get(code) ?? this.text(code);
  }

  /** Colours by code, `UNKNOWN` where `colour` is to be asked. */
  colours(kind: Track["kind"]): Uint8Array {
    const table = this.tables.get(kind);
    if (table && table.length > this.highest) return table;
    const larger = new Uint8Array(Math.max(1024, 2 * (this.highest + 1))).fill(UNKNOWN);
    if (table) larger.set(table);
    this.tables.set(kind, larger);
    return larger;
  }

  /** Number of the colour of a name; `DIM` where a search goes on that does not find it. */
  colour(kind: Track["kind"], code: number): number {
    const table = this.colours(kind);
    const cached = table[code]!;
    if (cached !== UNKNOWN) return cached;
    const colour = this.matches(code) ? colourOf(kind, this.text(code)) : DIM;
    table[code] = colour;
    return colour;
  }

  /** Sets what is searched for; "" for nothing. */
  search(text: string): void {
    if (text.toLowerCase() === this.query) return;
    this.query = text.toLowerCase();
    this.tables.clear();
  }

  private matches(code: number): boolean {
    return !this.query || this.text(code).toLowerCase().includes(this.query);
  }

  width(text: string, measure: (text: string) => number): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > MAX_WIDTHS) this.widths.clear();
      width = measure(text);
      this.widths.set(text, width);
    }
    return width;
  }

  /** The name as far as there is room; "" where too little of it would be left. */
  truncate(code: number, room: number, measure: (text: string) => number): string {
    const name = this.short(code);
    const fullWidth = this.width(name, measure);
    if (fullWidth <= room) return name;
    let characters = Math.floor((name.length * room) / fullWidth);
    while (characters >= MIN_CHARACTERS) {
      const text = `${name.slice(0, characters)}…`;
      if (this.width(text, measure) <= room) return text;
      characters--;
    }
    return "";
  }
}
