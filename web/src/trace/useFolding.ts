import { useMemo } from "preact/hooks";
import { type Layout, layOut, trackKey } from "./layout";
import type { Spot } from "./paint";
import type { StateChange, TraceState } from "./state";
import type { Timeline } from "./types";

interface FoldingState {
  layout: Layout;
  /** Opens or closes a group or a track, by its key. */
  toggle(key: string): void;
  /** Shows all rows of a deep track, or only its first ones again. */
  unfold(track: number): void;
  /** Opens what hides a slice; whether anything does. */
  reveal(spot: Spot): boolean;
}

/** Which groups, tracks and rows are shown, as the address says. */
export function useFolding(
  timeline: Timeline,
  state: TraceState,
  onState: (next: StateChange, mode: "push" | "replace") => void,
): FoldingState {
  const { collapsed = [], deep = [] } = state;
  const layout = useMemo(
    () => layOut(timeline.tracks, { toggled: new Set(collapsed), unfolded: new Set(deep) }),
    [timeline, collapsed.join("|"), deep.join()],
  );
  const toggle = (key: string) => onState({ collapsed: toggleEntry(collapsed, key) }, "replace");
  const unfold = (track: number) => onState({ deep: toggleEntry(deep, track) }, "replace");
  const reveal = ({ track, row }: Spot) => {
    const group = timeline.tracks.find(({ id }) => id === track)?.group;
    const item = layout.byTrack.get(track);
    if (group && !item) toggle(group);
    else if (!item || row < item.rows) return false;
    else if (!item.open) toggle(trackKey(track));
    else if (item.unfolded === false) unfold(track);
    else return false;
    return true;
  };
  return { layout, toggle, unfold, reveal };
}

/** A list with one more entry, or without it; undefined where nothing is left. */
function toggleEntry<T>(list: readonly T[], entry: T): T[] | undefined {
  const rest = list.filter((other) => other !== entry);
  if (rest.length === list.length) rest.push(entry);
  return rest.length ? rest : undefined;
}
