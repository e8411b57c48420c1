// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Block, Document, Section } from "../document/types";
import { DocumentView } from "./DocumentView";
import { NO_LINKS } from "./links";
import type { DocumentState } from "./state";
import { column, table } from "./testing";

const EVIL = "<script>alert(1)</script>";

const KERNELS = table([
  column("name", "text", ["small", EVIL, "large"], { link: "kernel" }),
  column("total", "time_ns", [100, 2_000, 30_000]),
]);

function page(...blocks: Block[]): Document {
  return {
    schema: "timesink/document/1",
    kind: "analysis",
    title: "run",
    subject: EVIL,
    headline: `The kernel ${EVIL} takes most of each step.`,
    tone: "warning",
    version: "1",
    sections: [{ id: "kernels", title: "Kernels", lead: "", blocks }],
  };
}

let host: HTMLElement;
beforeEach(() => {
  host = document.createElement("div");
  document.body.append(host);
});
afterEach(() => {
  render(null, host);
  host.remove();
});

function show(...args: Parameters<typeof DocumentView>): void {
  act(() => render(<DocumentView {...args[0]} />, host));
}

function cells(): string[] {
  return [...host.querySelectorAll("tbody td:first-child")].map((cell) => cell.textContent ?? "");
}

describe("a document", () => {
  it("shows names as text, never as markup", () => {
    const card = {
      rule: "r",
      severity: "high",
      advice: EVIL,
      gain: EVIL,
      evidence: [EVIL],
    } as const;
    const findings: Block = {
      type: "findings",
      empty: "",
      items: [{ ...card, title: EVIL, sentence: EVIL, evidence: [EVIL], links: [] }],
    };
    const parts: Block = {
      type: "parts",
      title: EVIL,
      kind: "time_ns",
      total: 1,
      parts: [{ id: EVIL, name: EVIL, value: 1, help: EVIL }],
    };
    show({ document: page(KERNELS, findings, parts) });
    expect(host.querySelector("script")).toBeNull();
    expect(host.querySelector("h1")?.textContent).toContain(EVIL);
    expect(cells()).toContain(EVIL);
  });

  it("draws pictures as images, in which nothing runs", () => {
    const svg = `<svg viewBox="0 0 40 20"><script>alert(1)</script></svg>`;
    show({ document: page({ type: "picture", title: "roofline", svg, caption: "" }) });
    const image = host.querySelector("img");
    expect(image?.getAttribute("src")).toMatch(/^data:image\/svg\+xml/);
    expect([image?.getAttribute("width"), image?.getAttribute("height")]).toEqual(["40", "20"]);
    expect(host.querySelector("svg script")).toBeNull();
  });

  it("says severity and verdict in words", () => {
    const verdict: Block = {
      type: "verdict",
      verdict: "regression",
      word: "Regression",
      sentence: "Cycles take longer.",
      base: { label: "base", value: 100 },
      new: { label: "new", value: 123 },
      kind: "time_ns",
      change: 0.23,
      low: 0.1,
      high: 0.3,
      notes: [],
    };
    show({ document: page(verdict) });
    expect(host.querySelector(".verdict")?.textContent).toContain("Regression+23.0 %");
    expect(host.querySelector(".interval")?.getAttribute("aria-label")).toBe(
      "+23.0 %, between +10.0 % and +30.0 %",
    );
  });

  it("passes over blocks it does not know", () => {
    show({ document: page({ type: "hologram" } as unknown as Block, KERNELS) });
    expect(cells()).toHaveLength(3);
  });
});

describe("a document of two clocks", () => {
  const text = (words: string): Block => ({ type: "text", text: words, tone: "plain" });
  const section = (id: string, clock: Section["clock"], words: string): Section => ({
    ...{ id, title: id, lead: "", blocks: [text(words)] },
    ...(clock !== undefined && { clock }),
  });
  const both = {
    ...page(),
    sections: [
      section("findings", "", "always"),
      section("steps", "own", "18.6 ms"),
      section("steps", "recorded", "84.7 ms"),
      section("kernels", undefined, "as well"),
    ],
  };
  const texts = () => [...host.querySelectorAll(".section p")].map((it) => it.textContent);
  const choice = (words: string) =>
    [...host.querySelectorAll("label")].find((it) => it.textContent === words)!;

  it("shows the first of them, and the other when asked", () => {
    show({ document: both });
    expect(texts()).toEqual(["always", "18.6 ms", "as well"]);
    act(() => choice("As recorded").querySelector("input")!.click());
    expect(texts()).toEqual(["always", "84.7 ms", "as well"]);
  });

  it("says which one to whoever keeps its state, and nothing for the first", () => {
    let latest: DocumentState = { clock: "recorded" };
    const onState = (state: DocumentState) => {
      latest = state;
    };
    show({ document: both, state: latest, onState });
    expect(texts()).toContain("84.7 ms");
    act(() => choice("Without profiler overhead").querySelector("input")!.click());
    expect(latest.clock).toBeUndefined();
  });

  it("shows that of the document where it says which", () => {
    show({ document: { ...both, clock: "recorded" } });
    expect(texts()).toContain("84.7 ms");
  });

  it("has nothing to choose where it speaks of one", () => {
    const singleClock = { ...both, sections: both.sections.slice(0, 2) };
    show({ document: singleClock, state: { clock: "recorded" }, onState: () => {} });
    expect(texts()).toEqual(["always", "18.6 ms"]);
    expect(host.querySelector(".switch")).toBeNull();
  });
});

describe("a table in a document", () => {
  it("is sorted by a click on a title, and says so", () => {
    show({ document: page(KERNELS) });
    const title = host.querySelectorAll<HTMLButtonElement>("thead button")[1];
    act(() => title?.click());
    expect(cells()).toEqual(["large", EVIL, "small"]);
    expect(host.querySelectorAll("th")[1]?.getAttribute("aria-sort")).toBe("descending");
  });

  it("links cells to where the page says, by what they hold", () => {
    const links = {
      ...NO_LINKS,
      hrefOfCell: (link: string, text: string) => `#/${link}/${encodeURIComponent(text)}`,
    };
    show({ document: page(KERNELS), links });
    expect(host.querySelector("tbody a")?.getAttribute("href")).toBe("#/kernel/small");
  });

  it("shows what its state says, and tells changes to whoever keeps it", () => {
    let latest: DocumentState = { tables: { kernels: { search: "large" } } };
    const onState = (state: DocumentState) => {
      latest = state;
    };
    show({ document: page(KERNELS), state: latest, onState });
    expect(cells()).toEqual(["large"]);
    act(() => host.querySelector<HTMLButtonElement>("thead button")?.click());
    expect(latest.tables?.kernels).toEqual({
      search: "large",
      sort: { key: "name", descending: false },
    });
  });
});
