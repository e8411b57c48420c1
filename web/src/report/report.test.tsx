// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import { column, table } from "../components/testing";
import type { Document } from "../document/types";
import { anchor, anchorLinks, readAnchor, stateWithSearch } from "./anchors";
import { readDocument } from "./document";
import { Report } from "./Report";

const DOCUMENT: Document = {
  schema: "timesink/document/1",
  kind: "analysis",
  title: "run",
  subject: "run",
  headline: "Fine.",
  tone: "good",
  version: "1",
  sections: [
    {
      id: "kernels",
      title: "Kernels",
      lead: "",
      blocks: [table([column("name", "text", ["gemm", "copy"])])],
    },
  ],
};

describe("the document of a report", () => {
  it("is read", () => {
    expect(readDocument(JSON.stringify(DOCUMENT))).toEqual({ document: DOCUMENT });
  });

  it.each([
    ["missing", undefined, "holds no data"],
    ["cut off", '{"schema": "timesink/doc', "cannot be read"],
    ["of another program", '{"schema": "other/1"}', "unknown format other/1"],
    ["nothing", "null", "cannot be shown"],
  ])("%s is told in a sentence", (_, text, sentence) => {
    const host = document.createElement("div");
    act(() => render(<Report read={readDocument(text)} />, host));
    expect(host.querySelector("[role=alert]")?.textContent).toContain(sentence);
  });
});

describe("anchors", () => {
  it("name a section and what to look for, whatever it holds", () => {
    const place = { section: "kernels", search: "void f<4>(int&) 100%#?" };
    expect(readAnchor(anchor(place))).toEqual(place);
    expect(readAnchor("#%")).toEqual({ section: "", search: "" });
    expect(readAnchor(anchor({ ...place, clock: "recorded" })).clock).toBe("recorded");
  });

  it("lead to sections the document has", () => {
    const { hrefOfLink } = anchorLinks(DOCUMENT);
    const link = { label: "gemm", search: "gemm", from_ns: null, to_ns: null };
    expect(hrefOfLink({ ...link, section: "kernels" })).toBe("#kernels?search=gemm");
    expect(hrefOfLink({ ...link, section: "trace" })).toBeNull();
  });

  it("make the tables of the section look for it", () => {
    const state = stateWithSearch(DOCUMENT, {}, "kernels", "gemm");
    expect(state.tables?.kernels?.search).toBe("gemm");
  });
});
