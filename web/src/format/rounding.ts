// Decimals rounded as Python rounds them, so that page and terminal show the same digits.

/** `value` with `digits` decimals; what lies exactly between two goes to the even one. */
export function toFixedHalfEven(value: number, digits: number): string {
  // Exactly between: an odd number of halves of the last place, which binary numbers can only
  // hold as an odd number of 2^-(digits + 1).
  const halves = Math.abs(value) * 2 ** (digits + 1);
  if (!Number.isInteger(halves) || halves % 2 === 0) return value.toFixed(digits);
  const below = Math.floor(Math.abs(value) * 10 ** digits);
  const even = below % 2 === 0 ? below : below + 1;
  return `${value < 0 ? "-" : ""}${(even / 10 ** digits).toFixed(digits)}`;
}

/** Three digits, without zeros at the end; far below one with a power of ten. */
export function threeDigits(value: number): string {
  const [digits = "0", power = "0"] = value.toExponential(2).split("e");
  const exponent = Number(power);
  if (exponent >= -4) return String(Number(value.toPrecision(3)));
  const sign = exponent < 0 ? "-" : "+";
  return `${Number(digits)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** Groups of three digits before the point, with spaces between. */
export function groupDigits(text: string): string {
  const [integer = "", fraction] = text.split(".");
  const spaced = integer.replace(/\B(?=(\d{3})+$)/g, " ");
  return fraction === undefined ? spaced : `${spaced}.${fraction}`;
}
