// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LinksContext, NO_LINKS } from "./links";
import { Scatter } from "./Scatter";
import { Tiles } from "./Tiles";
import { scatter } from "./testing";

const EVIL = "<script>alert(1)</script>";
const BLOCK = scatter([
  { name: EVIL, x: 400, y: 5e14, size: 900 },
  { name: "aten::add", x: 0.25, y: 1e12, size: 90 },
]);
const LINKS = {
  ...NO_LINKS,
  hrefOfLink: ({ section, search }: { section: string; search: string }) =>
    `#${section}?${encodeURIComponent(search)}`,
};

let host: HTMLElement;
beforeEach(() => {
  host = document.createElement("div");
  document.body.append(host);
});
afterEach(() => {
  render(null, host);
  host.remove();
});

function show(links = LINKS): SVGElement {
  const content = (
    <LinksContext.Provider value={links}>
      <Scatter block={BLOCK} />
    </LinksContext.Provider>
  );
  act(() => render(content, host));
  return host.querySelector("[role=application]") as SVGElement;
}
const readout = () => host.querySelector(".readout")?.textContent;

describe("points below roofs", () => {
  it("lead to what they stand for, and their names are text", () => {
    show();
    const hrefs = [...host.querySelectorAll(".points a")].map((link) => link.getAttribute("href"));
    expect(hrefs).toEqual([`#operators?${encodeURIComponent(EVIL)}`, "#operators?aten%3A%3Aadd"]);
    expect(host.querySelector("script")).toBeNull();
    expect(host.textContent).toContain("bf16 tensor 1 PFLOP/s");
  });

  it("are read by keys, and followed by Enter", () => {
    const svg = show();
    const press = (key: string) =>
      act(() => {
        svg.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      });
    expect(svg.getAttribute("aria-label")).toContain("2 points");
    // Names of attributes of drawings differ by case.
    expect(svg.getAttribute("tabindex")).toBe("0");
    press("ArrowLeft");
    expect(readout()).toContain(EVIL);
    press("ArrowLeft");
    expect(readout()).toContain("aten::add8x8bound by memorytime per step 90 nsTFLOP/s 1.000");
    press("Enter");
    expect(location.hash).toBe("#operators?aten%3A%3Aadd");
    press("Escape");
    expect(readout()).toContain("Point at a circle");
  });

  it("are drawn without links where nothing can be followed", () => {
    show(NO_LINKS as typeof LINKS);
    expect(host.querySelectorAll(".points a")).toHaveLength(0);
    expect(host.querySelectorAll("circle")).toHaveLength(2);
  });
});

it("a figure leads to the section that tells more", () => {
  const tile = {
    label: "MFU",
    value: 0.4,
    kind: "share",
    help: "",
    share: 0.4,
    tone: "plain",
  } as const;
  const content = (
    <LinksContext.Provider value={LINKS}>
      <Tiles
        block={{
          type: "tiles",
          tiles: [
            { ...tile, section: "efficiency" },
            { ...tile, label: "HFU" },
          ],
        }}
      />
    </LinksContext.Provider>
  );
  act(() => render(content, host));
  const links = [...host.querySelectorAll("dt a")].map((link) => link.textContent);
  expect(links).toEqual(["MFU"]);
});
