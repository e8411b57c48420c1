/** The colour of a part: the same wherever its id stands, else one of eight in turn. */
export function partColour(id: string, index: number): string {
  const name = id.replace(/[^\w-]/g, "");
  return `var(--part-${name || "none"}, var(--part-${(index % 8) + 1}))`;
}
