/** Calls `request` now and every `every_ms` while the page is visible, until it returns false. */
export function poll(
  request: (signal: AbortSignal) => Promise<boolean>,
  every_ms: number,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let controller: AbortController | null = null;
  let hasEnded = false;

  async function repeat() {
    clearTimeout(timer);
    controller?.abort();
    const current = new AbortController();
    controller = current;
    const continues = await request(current.signal);
    if (current.signal.aborted) return;
    hasEnded = !continues;
    if (continues && !document.hidden) timer = setTimeout(repeat, every_ms);
  }

  const onVisibilityChange = () => {
    if (document.hidden) clearTimeout(timer);
    else if (!hasEnded) void repeat();
  };
  void repeat();
  document.addEventListener("visibilitychange", onVisibilityChange);
  return () => {
    document.removeEventListener("visibilitychange", onVisibilityChange);
    clearTimeout(timer);
    controller?.abort();
  };
}
