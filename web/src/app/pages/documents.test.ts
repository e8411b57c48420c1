import { describe, expect, test } from "vitest";
import type { Document, Table } from "../../document/types";
import type { Place, SearchResult } from "../../trace/types";
import { longestOf } from "./Details";
import { withTable } from "./Operators";
import { totalsBy } from "./totals";

const table = (id: string, rows = 1) => ({ type: "table", id, title: id, rows }) as Table;

test("operators grouped otherwise take the place of those by name", () => {
  const blocks = [table("operators"), table("launch-sites")];
  const document = { sections: [{ id: "operators", blocks }] } as unknown as Document;
  const texts = (grouped?: Table) => withTable(document, grouped).sections[0]?.blocks;
  expect(texts(table("operators", 7))).toMatchObject([{ rows: 7 }, { id: "launch-sites" }]);
  expect(texts()).toMatchObject([{ id: "launch-sites" }]);
});

test("launches of one kernel are added up, the kernel that takes most first", () => {
  const launches = {
    rows: 3,
    columns: [
      { key: "short_name", data: { codes: [0, 1, 0], texts: ["copy", "gemm"] } },
      { key: "calls", data: { values: [2, 1, 3] } },
      { key: "total_ns", data: { values: [10, 40, null] } },
    ],
  } as Table;
  const totals = totalsBy(launches, "short_name");
  expect(totals.map(({ name, calls, total_ns }) => [name, calls, total_ns])).toEqual([
    ["gemm", 1, 40],
    ["copy", 5, 10],
  ]);
});

describe("the longest place of a name", () => {
  const place = (id: number, name: string, dur_ns: number) => ({ id, name, dur_ns }) as Place;
  const longest = (...hits: Place[]): SearchResult => ({ total: hits.length, names: [], hits });

  test("is not that of a longer name", () => {
    const hits = [place(1, "aten::mm", 5), place(2, "aten::mm", 7), place(3, "aten::mm_out", 90)];
    expect(longestOf(longest(...hits), "aten::mm")?.id).toBe(2);
  });
  test("is found though the server cuts long names", () => {
    expect(longestOf(longest(place(4, "void gemm", 5)), "void gemm<128>")?.id).toBe(4);
  });
  test("is none where nothing is found", () => {
    expect(longestOf(longest(), "aten::mm")).toBeUndefined();
  });
});
