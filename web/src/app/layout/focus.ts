import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/**
 * Focuses the heading of a new page, for screen readers and the Tab key.
 *
 * Waits for a heading that loads later, unless the focus has moved meanwhile.
 */
export function useFocusOnHeading(main: RefObject<HTMLElement | null>, place: string): void {
  const first = useRef(true);
  useEffect(() => {
    const page = main.current;
    if (!page) return;
    if (first.current) {
      first.current = false;
      return;
    }
    scrollTo(0, 0);
    page.focus({ preventScroll: true });
    if (focusHeading(page)) return;
    const watch = new MutationObserver(() => {
      if (document.activeElement !== page || focusHeading(page)) watch.disconnect();
    });
    watch.observe(page, { childList: true, subtree: true });
    return () => watch.disconnect();
  }, [place]);
}

function focusHeading(page: HTMLElement): boolean {
  const heading = page.querySelector<HTMLElement>("h1");
  if (!heading) return false;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  return true;
}
