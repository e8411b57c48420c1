// Formats numbers as `model/units.py` does; `vectors.json` tests both.

import type { Kind } from "../document/types";
import { groupDigits, threeDigits, toFixedHalfEven } from "./rounding";

/** Text for a missing number. */
export const NONE = "-";

/** A number in words: digits and, where it has one, its unit. */
export function format(kind: Kind, value: number | string | null | undefined): string {
  const { digits, unit } = formatParts(kind, value);
  return unit ? `${digits} ${unit}` : digits;
}

export interface FormattedNumber {
  digits: string;
  unit: string;
}

/** The same in two, so that columns can align digits and units. */
export function formatParts(
  kind: Kind,
  value: number | string | null | undefined,
): FormattedNumber {
  if (value === null || value === undefined) return { digits: NONE, unit: "" };
  if (typeof value === "string") return { digits: value, unit: "" };
  if (Number.isNaN(value)) return { digits: NONE, unit: "" };
  switch (kind) {
    case "time_ns":
      return duration(value);
    case "moment_ns":
      return { digits: groupDigits(toFixedHalfEven(value / 1_000_000, 3)), unit: "ms" };
    case "bytes":
      return size(value);
    case "bytes_per_s": {
      const { digits, unit } = size(value);
      return { digits, unit: `${unit}/s` };
    }
    case "count":
      return { digits: groupDigits(toFixedHalfEven(value, 0)), unit: "" };
    case "share":
      return { digits: toFixedHalfEven(100 * value, 1), unit: "%" };
    case "percent":
      return { digits: toFixedHalfEven(value, 1), unit: "%" };
    case "p_value":
      return { digits: value < 0.001 ? "< 0.001" : toFixedHalfEven(value, 3), unit: "" };
    case "number":
      return { digits: number(value), unit: "" };
    default:
      return { digits: String(value), unit: "" };
  }
}

const HUNDRED_PERCENT: Partial<Record<Kind, number>> = { share: 1, percent: 100 };
const ONLY_FACTORS = 10;
const MANY_TIMES = 1_000_000;

/** With a sign, for changes; beyond ten times as a factor. */
export function formatSigned(kind: Kind, value: number): string {
  const times = 1 + value / (HUNDRED_PERCENT[kind] ?? Infinity);
  if (times > MANY_TIMES) return `> ${groupDigits(toFixedHalfEven(MANY_TIMES, 0))} x`;
  if (times >= ONLY_FACTORS) return `${groupDigits(toFixedHalfEven(times, times < 100 ? 1 : 0))} x`;
  const text = format(kind, Math.abs(value));
  if (!/[1-9]/.test(text)) return text;
  return `${value < 0 ? "−" : "+"}${text}`;
}

function number(value: number): string {
  return value !== 0 && Math.abs(value) < 0.0005
    ? threeDigits(value)
    : groupDigits(toFixedHalfEven(value, 3));
}

const TIMES: [size: number, unit: string][] = [
  [1, "ns"],
  [1_000, "us"],
  [1_000_000, "ms"],
];

function duration(value: number): FormattedNumber {
  for (const [size, unit] of TIMES) {
    const digits = size === 1 ? toFixedHalfEven(value, 0) : twoDecimals(value / size);
    // What rounds up to a thousand is one of the next unit.
    if (Math.abs(Number(digits)) < 1000) return { digits, unit };
  }
  return { digits: twoDecimals(value / 1_000_000_000), unit: "s" };
}

/** Two decimals, or one where that makes too many digits; rounded once. */
function twoDecimals(value: number): string {
  const fine = toFixedHalfEven(value, 2);
  return Math.abs(Number(fine)) < 100 ? fine : toFixedHalfEven(value, 1);
}

function size(value: number): FormattedNumber {
  for (const [power, unit] of ["B", "KiB", "MiB", "GiB"].entries()) {
    const digits = toFixedHalfEven(value / 1024 ** power, power ? 1 : 0);
    // What rounds up to 1024 is one of the next unit.
    if (Math.abs(Number(digits)) < 1024) return { digits, unit };
  }
  return { digits: toFixedHalfEven(value / 1024 ** 4, 1), unit: "TiB" };
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
  const match = /^(-?\d*\.?\d+(?:e[+-]?\d+)?)\s*([a-zµ%/]*)$/i.exec(text.trim());
  if (!match) return null;
  const value = Number(match[1]);
  const unit = (match[2] ?? "").toLowerCase();
  if (!unit) return value;
  const size = UNITS[kind]?.[unit];
  return size === undefined ? null : value * size;
}
