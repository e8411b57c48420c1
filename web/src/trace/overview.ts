// What the overview shows.

import type { Track } from "./types";

/** Tracks of the overview: the fullest threads, below them the fullest of devices. */
export function busiest(tracks: readonly Track[]): Track[] {
  const fullest = (kinds: readonly Track["kind"][], max: number) =>
    tracks
      .filter((track) => kinds.includes(track.kind))
      .sort((a, b) => b.events - a.events)
      .slice(0, max);
  return [...fullest(["host"], 2), ...fullest(["device", "communication"], 4)];
}
