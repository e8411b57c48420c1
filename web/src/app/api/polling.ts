/** Looks at once, again every so often while somebody sees the page, and until `look` says false. */
export function lookRegularly(
  look: (signal: AbortSignal) => Promise<boolean>,
  every_ms: number,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asking: AbortController | null = null;
  let over = false;

  async function again() {
    clearTimeout(timer);
    asking?.abort();
    const current = new AbortController();
    asking = current;
    const goesOn = await look(current.signal);
    if (current.signal.aborted) return;
    over = !goesOn;
    if (goesOn && !document.hidden) timer = setTimeout(again, every_ms);
  }

  const lookOrRest = () => {
    if (document.hidden) clearTimeout(timer);
    else if (!over) void again();
  };
  void again();
  document.addEventListener("visibilitychange", lookOrRest);
  return () => {
    document.removeEventListener("visibilitychange", lookOrRest);
    clearTimeout(timer);
    asking?.abort();
  };
}
