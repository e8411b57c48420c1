// In a frame, such as TensorBoard's tab, the address bar shows another page.

const KEY = "timesink.place";

export const isFramed = (): boolean => window.parent !== window;

/** Stores the address, for a reload of the page around the frame. */
export function keepPlace(hash: string): void {
  if (!isFramed()) return;
  try {
    sessionStorage.setItem(KEY, hash);
  } catch {
    // Without storage a reload begins at the list of runs.
  }
}

/** Restores the address after a reload of the page around the frame. */
export function restorePlace(): void {
  if (!isFramed() || location.hash) return;
  try {
    const hash = sessionStorage.getItem(KEY);
    if (hash?.startsWith("#/")) history.replaceState(null, "", hash);
  } catch {
    // As above.
  }
}
