import { describe, expect, it } from "vitest";
import {
  DEFAULT_FOLDING,
  type Folding,
  HEADER,
  itemAt,
  layOut,
  ROW,
  rowAt,
  rowTop,
  trackKey,
  visibleItems,
} from "./layout";
import type { Track } from "./types";

function track(id: number, group: string, rows: number, kind: Track["kind"] = "host"): Track {
  return { id, group, rows, kind, name: `t${id}`, events: 1, unit: "", lowest: 0, highest: 1 };
}

const TRACKS = [
  track(1, "process", 3),
  track(2, "GPU", 1, "device"),
  track(3, "process", 1),
  track(4, "GPU", 1, "memory"),
];

describe("laying out", () => {
  it("puts tracks of a group together below its header", () => {
    const { items } = layOut(TRACKS, DEFAULT_FOLDING);
    const names = items.map((item) => (item.type === "group" ? item.name : item.track.id));
    expect(names).toEqual(["process", 1, 3, "GPU", 2, 4]);
  });
  it("keeps groups of counters closed until they are opened, unless there is nothing else", () => {
    const curves = [
      track(5, "GPU, counters", 1, "counter"),
      track(6, "GPU, counters", 1, "memory"),
    ];
    const visible = (tracks: Track[], ...turned: string[]) => [
      ...layOut(tracks, { ...DEFAULT_FOLDING, toggled: new Set(turned) }).byTrack.keys(),
    ];
    expect(visible([...TRACKS, ...curves])).toEqual([1, 3, 2, 4]);
    expect(visible([...TRACKS, ...curves], "GPU, counters")).toEqual([1, 3, 2, 4, 5, 6]);
    expect(visible(curves)).toEqual([5, 6]);
  });
  it("leaves its streams, a row each, where a device is closed", () => {
    const tracks = [track(1, "GPU", 3, "device"), track(2, "GPU", 2, "annotation")];
    const closed = layOut(tracks, { ...DEFAULT_FOLDING, toggled: new Set(["GPU"]) });
    expect([...closed.byTrack.values()].map(({ track, rows }) => [track.id, rows])).toEqual([
      [1, 1],
    ]);
    const again = layOut(tracks, { ...DEFAULT_FOLDING, toggled: new Set(["GPU", trackKey(1)]) });
    expect(again.byTrack.get(1)?.rows).toBe(3);
  });
  it("leaves no hole and no overlap", () => {
    const { items, height } = layOut(TRACKS, DEFAULT_FOLDING);
    for (const [i, item] of items.entries()) {
      expect(item.y + item.height).toBe(items[i + 1]?.y ?? height);
    }
  });
  it("hides tracks of closed groups and rows of closed tracks", () => {
    const closed = layOut(TRACKS, { ...DEFAULT_FOLDING, toggled: new Set(["GPU", trackKey(1)]) });
    expect([...closed.byTrack.keys()]).toEqual([1, 3, 2]);
    expect(closed.byTrack.get(1)?.rows).toBe(1);
  });
});

describe("deep tracks", () => {
  const tracks = [track(1, "process", 30), track(2, "GPU", 30, "device")];
  const rows = (folding: Folding) =>
    [...layOut(tracks, folding).byTrack.values()].map((item) => [item.rows, item.unfolded]);
  it("of the host open with their first rows, and a row for the handle", () => {
    expect(rows(DEFAULT_FOLDING)).toEqual([
      [12, false],
      [30, null],
    ]);
    const item = layOut(tracks, DEFAULT_FOLDING).byTrack.get(1)!;
    expect(rowAt(item, rowTop(item, 11) + ROW)).toBeNull();
    expect(item.height).toBeGreaterThan(13 * ROW);
  });
  it("show all rows once they are unfolded, and one once they are closed", () => {
    expect(rows({ ...DEFAULT_FOLDING, unfolded: new Set([1]) })[0]).toEqual([30, true]);
    expect(rows({ toggled: new Set([trackKey(1)]), unfolded: new Set([1]) })[0]).toEqual([1, null]);
  });
});

describe("finding", () => {
  const layout = layOut(TRACKS, DEFAULT_FOLDING);
  const first = layout.byTrack.get(1)!;
  it("an item by its height", () => {
    expect(itemAt(layout, 0)).toMatchObject({ type: "group", name: "process" });
    expect(itemAt(layout, HEADER)).toBe(first);
    expect(itemAt(layout, layout.height + 1)).toBeNull();
    expect(itemAt(layout, -1)).toBeNull();
  });
  it("a row, on the whole height of a track", () => {
    expect(rowAt(first, rowTop(first, 2) + ROW - 1)).toBe(2);
    expect(rowAt(first, first.y + first.height - 1)).toBe(2);
    const curve = layout.byTrack.get(4)!;
    expect(rowAt(curve, curve.y + curve.height - 1)).toBe(0);
  });
  it("what is in sight", () => {
    const items = visibleItems(layout, HEADER + 1, HEADER + 2);
    expect(items).toEqual([first]);
    expect(visibleItems(layout, 0, layout.height)).toEqual(layout.items);
  });
});
