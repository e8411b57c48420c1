/** The colour of a part: fixed for known ids, else one of eight by index. */
export function partColour(id: string, index: number): string {
  const name = id.replace(/[^\w-]/g, "");
  return `var(--part-${name || "none"}, var(--part-${(index % 8) + 1}))`;
}
