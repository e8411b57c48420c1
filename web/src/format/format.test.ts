import { describe, expect, it } from "vitest";
import type { Kind } from "../document/types";
import { format, formatSigned, parse } from "./format";
import vectors from "./vectors.json";

describe("format", () => {
  it.each(vectors as { kind: Kind; value: number | null; text: string }[])(
    "$kind $value is $text, as in the terminal",
    ({ kind, value, text }) => expect(format(kind, value)).toBe(text),
  );

  it("rounds what lies exactly between two to the even one, as Python does", () => {
    expect(format("percent", 0.25)).toBe("0.2 %");
    expect(format("percent", 0.75)).toBe("0.8 %");
    expect(format("time_ns", 2.5)).toBe("2 ns");
    expect(format("time_ns", -2.5)).toBe("-2 ns");
  });

  it("never says that chance is impossible", () => {
    expect(format("p_value", 0)).toBe("< 0.001");
    expect(format("p_value", 0.0421)).toBe("0.042");
  });

  it("says a dash for nothing", () => {
    expect(format("bytes", null)).toBe("-");
    expect(format("number", Number.NaN)).toBe("-");
  });
});

describe("signed", () => {
  it("tells the direction of a change, and none of what rounds to nothing", () => {
    expect(formatSigned("time_ns", 1_500)).toBe("+1.50 us");
    expect(formatSigned("share", -0.231)).toBe("−23.1 %");
    expect(formatSigned("share", -0.0001)).toBe("0.0 %");
  });
  it("tells a change of more than ten times as a factor", () => {
    expect(formatSigned("share", 8.99)).toBe("+899.0 %");
    expect(formatSigned("percent", 1_150)).toBe("12.5 x");
    expect(formatSigned("share", 60_016_632)).toBe("> 1 000 000 x");
  });
});

describe("parse", () => {
  it.each([
    ["time_ns", "10us", 10_000],
    ["time_ns", "1.5 ms", 1_500_000],
    ["bytes", "2MiB", 2 * 1024 ** 2],
    ["share", "5%", 0.05],
    ["count", "1e3", 1000],
  ] as [Kind, string, number][])("%s %s", (kind, text, value) => {
    expect(parse(kind, text)).toBe(value);
  });

  it("declines units of other kinds and words", () => {
    expect(parse("time_ns", "5MiB")).toBeNull();
    expect(parse("count", "many")).toBeNull();
  });
});
