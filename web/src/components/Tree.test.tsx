// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Tree as TreeBlock } from "../document/types";
import { LinksContext, NO_LINKS } from "./links";
import { Tree } from "./Tree";

const STATES = ["same", "added", "changed"];
/** aten::to is the same, with a copy folded away; aten::linear holds a call that is only in new. */
const TREE: TreeBlock = {
  type: "tree",
  id: "calls",
  title: "Calls",
  depth: [0, 1, 0, 1, 1],
  names: {
    codes: [0, 1, 2, 3, 4],
    texts: ["aten::to", "copy", "aten::linear", "aten::item", "gemm"],
  },
  states: { codes: [0, 0, 2, 1, 0], texts: STATES },
  folded: [1, 0, 0, 0, 0],
  base: {
    label: "base: a",
    details: [
      { title: "calls", kind: "count", values: [1, 1, 2, 0, 2] },
      { title: "device", kind: "time_ns", values: [5, 5, 100, 0, 100] },
    ],
    moments_ns: [7, 7, 9, null, 9],
  },
  new: {
    label: "new: b",
    details: [
      { title: "calls", kind: "count", values: [1, 1, 2, 3, 2] },
      { title: "device", kind: "time_ns", values: [5, 5, 130, 30, 100] },
    ],
    moments_ns: [8, 8, 9, 10, 9],
  },
  total: 4,
};

let host: HTMLElement;
beforeEach(() => {
  host = document.body.appendChild(document.createElement("div"));
});
afterEach(() => host.remove());

const show = (links = NO_LINKS, block = TREE) =>
  act(() =>
    render(
      <LinksContext.Provider value={links}>
        <Tree block={block} />
      </LinksContext.Provider>,
      host,
    ),
  );
const rows = () => [...host.querySelectorAll<HTMLElement>("tbody tr")];
const names = () => rows().map((row) => row.querySelector(".name")?.textContent);
const press = (key: string) =>
  act(() => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true });
    (host.contains(document.activeElement) ? document.activeElement : rows()[0])?.dispatchEvent(
      event,
    );
  });
const type = (text: string) =>
  act(() => {
    const box = host.querySelector("input[type=search]") as HTMLInputElement;
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  });

describe("a tree of two sides", () => {
  it("is folded where both are equal, and says how much is there", () => {
    show();
    expect(names()).toEqual(["aten::to", "aten::linear", "aten::item", "gemm"]);
    expect(rows()[0]?.textContent).toContain("1 call sites below");
    act(() => host.querySelector<HTMLElement>("button.turn")?.click());
    expect(names()[1]).toBe("copy");
    expect(host.querySelector(".table-note")).toBeNull();
  });

  it("has figures only on the side that makes a call", () => {
    show();
    const cells = [...(rows()[2]?.querySelectorAll("td") ?? [])].map((cell) => cell.textContent);
    expect(cells).toEqual(["", "", "3", "30 ns", "+30 ns"]);
  });

  it("shows what differs alone", () => {
    show();
    act(() => host.querySelector<HTMLElement>("input[type=checkbox]")?.click());
    expect(names()).toEqual(["aten::linear", "aten::item"]);
  });

  it("finds what is folded away, below its callers", () => {
    show();
    type("COPY");
    expect(names()).toEqual(["aten::to", "copy"]);
    type("nothing of it");
    expect(host.querySelector(".empty")?.textContent).toContain("No call matches");
  });

  it("is walked, folded and unfolded by keys, and has one stop of the Tab key", () => {
    show();
    press("ArrowRight");
    expect(names()).toHaveLength(5);
    press("ArrowRight");
    expect(document.activeElement?.textContent).toContain("copy");
    press("ArrowLeft");
    press("ArrowLeft");
    expect(names()).toHaveLength(4);
    press("End");
    expect(document.activeElement?.textContent).toContain("gemm");
    expect(host.querySelectorAll('tr[tabindex="0"]')).toHaveLength(1);
  });

  it("leads to both timelines where there are any, each where it makes the call", () => {
    show();
    expect(host.querySelector("a")).toBeNull();
    show({ ...NO_LINKS, hrefOfMoment: (side, at, name) => `#${side}/${at}/${name}` });
    const links = rows().map((row) =>
      [...row.querySelectorAll("a")].map((link) => link.getAttribute("href")),
    );
    expect(links[0]).toEqual(["#base/7/aten::to", "#new/8/aten::to"]);
    expect(links[2]).toEqual(["#new/10/aten::item"]);
  });

  it("says how many rows are missing", () => {
    show(NO_LINKS, { ...TREE, total: 9 });
    expect(host.querySelector(".table-note")?.textContent).toContain("5 more rows");
  });
});
