// Long names are shortened in the middle: their end often tells more than what is before it.

const LONG = 28;
const TAIL = { least: 6, most: 12 };

/** Whether a name may have to be shortened. */
export function isLong(name: string): boolean {
  return name.length > LONG;
}

/** A name in two: the head gives way where room is short, the tail stays. */
export function splitName(name: string): [head: string, tail: string] {
  if (!isLong(name)) return [name, ""];
  const from = name.length - TAIL.most;
  const until = name.length - TAIL.least;
  const border = name.slice(from, until).search(/[^A-Za-z0-9]/);
  const at = border < 0 ? until : from + border;
  return [name.slice(0, at), name.slice(at)];
}

/** Room to keep for the tail of a name; letters are about as wide as digits. */
export function roomForTail(tail: string): Record<string, string> | undefined {
  return tail ? { "--tail": `${tail.length + 0.5}ch` } : undefined;
}
