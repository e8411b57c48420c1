import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Delay of measuring after a change, in milliseconds: sorting and scrolling do not wait. */
const MEASURE_DELAY_MS = 120;

/** Tells the style sheet which names do not fit: only those offer to be opened. */
export function useCutNames(scrolled: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const timer = setTimeout(
      () => scrolled.current && markCutNames(scrolled.current),
      MEASURE_DELAY_MS,
    );
    return () => clearTimeout(timer);
  });
  useLayoutEffect(() => {
    const element = scrolled.current;
    if (!element) return;
    const observer = new ResizeObserver(() => markCutNames(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, [scrolled]);
}

/** Reads all widths before it writes anything, so that the page is laid out once. */
function markCutNames(element: HTMLElement): void {
  // A row that is open shows names whole, cut or not: what was known before holds.
  const names = [...element.querySelectorAll<HTMLElement>("tr:not(.open) .named")];
  const cut = names.map((name) => {
    const head = name.querySelector(".head");
    return head !== null && head.scrollWidth > head.clientWidth;
  });
  names.forEach((name, at) => {
    name.toggleAttribute("data-cut", cut[at]);
  });
}
