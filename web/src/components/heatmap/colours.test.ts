import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { between, parse } from "./colours";

describe("colours between stops", () => {
  it("are mixed", () => {
    expect(between([parse("#000000"), parse("#ff8000")], 0.5)).toBe("rgb(128 64 0)");
    expect(between([parse("#000000"), parse("#ff8000")], 1)).toBe("rgb(255 128 0)");
  });
});

describe("the scales of both themes", () => {
  const css = readFileSync(new URL("../../style/tokens.css", import.meta.url), "utf8");
  const matches = [...css.matchAll(/--heat-(\d): (#[\da-f]{6});/g)];
  const light = matches.filter((_, at) => at < 6).map((match) => lightness(match[2] ?? ""));
  const dark = matches
    .filter((_, at) => at >= 6 && at < 12)
    .map((match) => lightness(match[2] ?? ""));

  it("go one way in lightness, so that they are read without seeing hues", () => {
    const steps = (values: number[]) =>
      values.slice(1).map((value, at) => value - (values[at] ?? 0));
    expect(light).toHaveLength(6);
    expect(steps(light).every((step) => step < -0.03)).toBe(true);
    expect(steps(dark).every((step) => step > 0.03)).toBe(true);
  });
});

/** How light a colour is, 0 to 1 (the L of CIE L*a*b*). */
function lightness(colour: string): number {
  const [red, green, blue] = parse(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return light > 0.008856 ? 1.16 * Math.cbrt(light) - 0.16 : 9.033 * light;
}
