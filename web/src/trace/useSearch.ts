import { useEffect, useRef, useState } from "preact/hooks";
import type { TraceApi } from "./api";
import type { Engine } from "./engine";
import type { Place, SearchResult } from "./types";
import { type Answer, useAnswer } from "./useAnswer";

export interface Search {
  result: Answer<SearchResult>;
  /** Which hit is shown; -1 before the first. */
  hit: number;
  /**
   * Goes to the next hit (1) or the one before (-1), around the end; `soon` once another search
   * that has just begun is answered.
   */
  step(by: 1 | -1, soon?: boolean): void;
}

/** Searches names, marks what fits and goes through hits. */
export function useSearch(
  api: TraceApi,
  engine: Engine,
  q: string,
  onHit: (place: Place) => void,
): Search {
  const [hit, setHit] = useState(-1);
  const result = useAnswer(q ? (call) => api.search(q, call) : null, [api, q]);
  /** A step asked for before the answer came. */
  const early = useRef<1 | -1 | null>(null);
  useEffect(() => setHit(-1), [q]);
  useEffect(() => {
    engine.names.search(q);
    engine.redraw();
  }, [engine, q]);
  const step = (by: 1 | -1, soon = result.loading) => {
    const hits = result.value?.hits ?? [];
    early.current = soon ? by : null;
    if (!hits.length || soon) return;
    const next = hit < 0 ? firstInView(hits, engine.view.from, by) : hit + by;
    const index = (next + hits.length) % hits.length;
    setHit(index);
    onHit(hits[index]!);
  };
  useEffect(() => {
    if (early.current && !result.loading) step(early.current);
  }, [result.loading]);
  return { result, hit, step };
}

/** Where going through hits begins: at the left edge of the view, or before it. */
export function firstInView(hits: readonly Place[], from: number, by: 1 | -1): number {
  const index = hits.findIndex((place) => place.from_ns >= from);
  const first = Math.max(0, index);
  return by === 1 ? first : first - 1;
}
