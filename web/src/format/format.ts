// Numbers for people, worded as `model/units.py` words them; `vectors.json` holds both to it.

import type { Kind } from "../document/types";
import { fixed, grouped, threeDigits } from "./rounding";

/** What stands for a number there is none of. */
export const NONE = "-";

/** A number in words: digits and, where it has one, its unit. */
export function format(kind: Kind, value: number | string | null | undefined): string {
  const { digits, unit } = worded(kind, value);
  return unit ? `${digits} ${unit}` : digits;
}

export interface Worded {
  digits: string;
  unit: string;
}

/** The same in two, so that columns can align digits and units. */
export function worded(kind: Kind, value: number | string | null | undefined): Worded {
  if (value === null || value === undefined) return { digits: NONE, unit: "" };
  if (typeof value === "string") return { digits: value, unit: "" };
  if (Number.isNaN(value)) return { digits: NONE, unit: "" };
  switch (kind) {
    case "time_ns":
      return duration(value);
    case "moment_ns":
      return { digits: grouped(fixed(value / 1_000_000, 3)), unit: "ms" };
    case "bytes":
      return size(value);
    case "bytes_per_s": {
      const { digits, unit } = size(value);
      return { digits, unit: `${unit}/s` };
    }
    case "count":
      return { digits: grouped(fixed(value, 0)), unit: "" };
    case "share":
      return { digits: fixed(100 * value, 1), unit: "%" };
    case "percent":
      return { digits: fixed(value, 1), unit: "%" };
    case "p_value":
      return { digits: value < 0.001 ? "< 0.001" : fixed(value, 3), unit: "" };
    case "number":
      return { digits: number(value), unit: "" };
    default:
      return { digits: String(value), unit: "" };
  }
}

const WHOLE: Partial<Record<Kind, number>> = { share: 1, percent: 100 };
const ONLY_FACTORS = 10;
const MANY_TIMES = 1_000_000;

/** With a sign, for changes: a plus is told, a minus is a real one; beyond ten times a factor. */
export function signed(kind: Kind, value: number): string {
  const times = 1 + value / (WHOLE[kind] ?? Infinity);
  if (times > MANY_TIMES) return `> ${grouped(fixed(MANY_TIMES, 0))} x`;
  if (times >= ONLY_FACTORS) return `${grouped(fixed(times, times < 100 ? 1 : 0))} x`;
  const text = format(kind, Math.abs(value));
  if (!/[1-9]/.test(text)) return text;
  return `${value < 0 ? "−" : "+"}${text}`;
}

function number(value: number): string {
  return value !== 0 && Math.abs(value) < 0.0005 ? threeDigits(value) : grouped(fixed(value, 3));
}

const TIMES: [size: number, unit: string][] = [
  [1, "ns"],
  [1_000, "us"],
  [1_000_000, "ms"],
];

function duration(value: number): Worded {
  for (const [size, unit] of TIMES) {
    const digits = size === 1 ? fixed(value, 0) : twoDecimals(value / size);
    // What rounds up to a thousand is one of the next unit.
    if (Math.abs(Number(digits)) < 1000) return { digits, unit };
  }
  return { digits: twoDecimals(value / 1_000_000_000), unit: "s" };
}

/** Two decimals, or one where that makes too many digits; rounded once. */
function twoDecimals(value: number): string {
  const fine = fixed(value, 2);
  return Math.abs(Number(fine)) < 100 ? fine : fixed(value, 1);
}

function size(value: number): Worded {
  for (const [power, unit] of ["B", "KiB", "MiB", "GiB"].entries()) {
    const digits = fixed(value / 1024 ** power, power ? 1 : 0);
    // What rounds up to 1024 is one of the next unit.
    if (Math.abs(Number(digits)) < 1024) return { digits, unit };
  }
  return { digits: fixed(value / 1024 ** 4, 1), unit: "TiB" };
}

const SIZES: Record<string, number> = {
  b: 1,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
};

const TIME_UNITS = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 };

const UNITS: Partial<Record<Kind, Record<string, number>>> = {
  time_ns: TIME_UNITS,
  moment_ns: TIME_UNITS,
  bytes: SIZES,
  bytes_per_s: Object.fromEntries(Object.entries(SIZES).map(([unit, size]) => [`${unit}/s`, size])),
  share: { "%": 0.01 },
  percent: { "%": 1 },
};

/** A number as people write it, e.g. `10us`, in the unit of a kind; null where it is none. */
export function parse(kind: Kind, text: string): number | null {
  const found = /^(-?\d*\.?\d+(?:e[+-]?\d+)?)\s*([a-zµ%/]*)$/i.exec(text.trim());
  if (!found) return null;
  const value = Number(found[1]);
  const unit = (found[2] ?? "").toLowerCase();
  if (!unit) return value;
  const size = UNITS[kind]?.[unit];
  return size === undefined ? null : value * size;
}
