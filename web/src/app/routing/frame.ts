// In a frame, as TensorBoard's tab is, the address bar shows the place of another page.

const KEY = "timesink.place";

export const isFramed = (): boolean => window.parent !== window;

/** Keep where the reader is, for when the page around the frame is loaded anew. */
export function keepPlace(hash: string): void {
  if (!isFramed()) return;
  try {
    sessionStorage.setItem(KEY, hash);
  } catch {
    // Without storage a reload begins at the list of runs.
  }
}

/** Go to where the reader was before the page around the frame was loaded anew. */
export function restorePlace(): void {
  if (!isFramed() || location.hash) return;
  try {
    const hash = sessionStorage.getItem(KEY);
    if (hash?.startsWith("#/")) history.replaceState(null, "", hash);
  } catch {
    // As above.
  }
}
