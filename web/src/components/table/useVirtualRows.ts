import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

export interface VirtualRows {
  items: VirtualItem[];
  /** Height of what is above and below the rows that are there, in pixels. */
  above: number;
  below: number;
  measure: ((row: Element | null) => void) | null;
}

const HEIGHT = 30;

/**
 * The rows in view of a scrolled element; `enabled` false for none.  Rows are of one height, and not
 * measured, unless some are `opened`.
 */
export function useVirtualRows(
  rows: number[],
  scrolled: RefObject<HTMLElement | null>,
  { enabled, opened }: { enabled: boolean; opened: boolean },
): VirtualRows {
  const [, redraw] = useReducer((times: number) => times + 1, 0);
  const options = {
    count: rows.length,
    enabled,
    overscan: 12,
    estimateSize: () => HEIGHT,
    getItemKey: (index: number) => rows[index] ?? index,
    getScrollElement: () => scrolled.current,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(0),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLElement, Element>(options));
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => virtual._willUpdate());
  useLayoutEffect(() => {
    if (!opened) virtual.measure();
  }, [virtual, opened]);
  const items = enabled ? virtual.getVirtualItems() : [];
  return {
    items,
    above: items[0]?.start ?? 0,
    below: enabled ? virtual.getTotalSize() - (items.at(-1)?.end ?? 0) : 0,
    measure: opened ? virtual.measureElement : null,
  };
}
