// Where tracks stand: groups with a header each, tracks below, rows within.

import type { Track } from "./types";

export const ROW = 18;
export const HEADER = 26;
export const CURVE = 44;
const GAP = 6;
/** Host tracks with more rows than this open with fewer, and a handle for the rest. */
const DEEP_ROWS = 16;
const FIRST_ROWS = 12;

export interface GroupItem {
  type: "group";
  name: string;
  y: number;
  height: number;
  open: boolean;
  tracks: number;
}

export interface TrackItem {
  type: "track";
  track: Track;
  y: number;
  height: number;
  open: boolean;
  /** Rows that are shown: 1 of a closed track, the first ones of a deep one. */
  rows: number;
  /** Whether all of a deep track is shown, or only its first rows; null for others. */
  unfolded: boolean | null;
}

export type Item = GroupItem | TrackItem;

export interface Layout {
  items: Item[];
  height: number;
  byTrack: Map<number, TrackItem>;
}

/** How a closed track is called among the names of closed groups. */
export function trackKey(id: number): string {
  return `#${id}`;
}

/** What differs from how a timeline opens. */
export interface Folding {
  /** Names of groups and keys of tracks that are closed, or open where they would be closed. */
  toggled: ReadonlySet<string>;
  /** Deep tracks of which all rows are shown. */
  unfolded: ReadonlySet<number>;
}

export function isCurve(track: Track): boolean {
  return track.kind === "counter" || track.kind === "memory";
}

export const DEFAULT_FOLDING: Folding = { toggled: new Set(), unfolded: new Set() };

/** Streams that stay in sight where their device is closed; those that do little do not. */
function isMain({ kind, group }: Track): boolean {
  return (kind === "device" || kind === "communication") && !group.endsWith(", other streams");
}

/**
 * Stacks tracks by group, groups in the order they first appear.
 *
 * Groups of curves are closed at first, unless there is nothing else.  Of a closed device, each
 * stream keeps a row.
 */
export function layOut(tracks: readonly Track[], { toggled, unfolded }: Folding): Layout {
  const onlyCurves = tracks.every(isCurve);
  const groups = new Map<string, Track[]>();
  for (const track of tracks) {
    const members = groups.get(track.group);
    if (members) members.push(track);
    else groups.set(track.group, [track]);
  }
  const items: Item[] = [];
  const byTrack = new Map<number, TrackItem>();
  let y = 0;
  for (const [name, members] of groups) {
    const open = toggled.has(name) !== (onlyCurves || !members.every(isCurve));
    items.push({ type: "group", name, y, height: HEADER, open, tracks: members.length });
    y += HEADER;
    for (const track of open ? members : members.filter(isMain)) {
      const isOpen = toggled.has(trackKey(track.id)) !== open;
      const item = trackItem(track, y, isOpen, unfolded.has(track.id));
      items.push(item);
      byTrack.set(track.id, item);
      y += item.height;
    }
  }
  return { items, height: y, byTrack };
}

function trackItem(track: Track, y: number, open: boolean, all: boolean): TrackItem {
  const type = "track";
  if (isCurve(track) || !open) {
    const height = (isCurve(track) && open ? CURVE : ROW) + GAP;
    return { type, track, y, height, open, rows: 1, unfolded: null };
  }
  const deep = track.kind === "host" && track.rows > DEEP_ROWS;
  const rows = deep && !all ? FIRST_ROWS : Math.max(1, track.rows);
  const height = (deep ? rows + 1 : rows) * ROW + GAP;
  return { type, track, y, height, open, rows, unfolded: deep ? all : null };
}

/** Items that touch the stretch from `top` to `bottom`. */
export function visibleItems(layout: Layout, top: number, bottom: number): Item[] {
  const visible: Item[] = [];
  for (let i = firstBelow(layout.items, top); i < layout.items.length; i++) {
    const item = layout.items[i]!;
    if (item.y >= bottom) break;
    visible.push(item);
  }
  return visible;
}

export function itemAt(layout: Layout, y: number): Item | null {
  const item = layout.items[firstBelow(layout.items, y)];
  return item && y >= item.y ? item : null;
}

/** Row of a track at a height within the layout; null beside the handle of a deep one. */
export function rowAt(item: TrackItem, y: number): number | null {
  const row = Math.floor((y - item.y) / ROW);
  if (item.unfolded !== null && row >= item.rows) return null;
  return Math.min(row, item.rows - 1);
}

export function rowTop(item: TrackItem, row: number): number {
  return item.y + Math.min(row, item.rows - 1) * ROW;
}

/** Index of the first item that ends below `y`. */
function firstBelow(items: readonly Item[], y: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = items[middle]!;
    if (item.y + item.height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}
