// Long names are shortened in the middle: their end often tells more than what is before it.

const LONG = 28;
const TAIL = { least: 6, most: 12 };

/** Whether a name may lack room somewhere. */
export function mayBeCut(name: string): boolean {
  return name.length > 12;
}

/** Whether a name is shortened in its middle. */
function isLong(name: string): boolean {
  return name.length > LONG;
}

/** A name in two: the head gives way where room is short, the tail stays. */
export function splitName(name: string): [head: string, tail: string] {
  if (!isLong(name)) return [name, ""];
  const from = name.length - TAIL.most;
  const until = name.length - TAIL.least;
  const border = name.slice(from, until).search(/[^A-Za-z0-9]/);
  const near = border < 0 ? until : from + border;
  // Not between the halves of a letter that takes two.
  const at = /[\udc00-\udfff]/.test(name[near] ?? "") ? near + 1 : near;
  return [name.slice(0, at), name.slice(at)];
}

/** Room to keep for the tail of a name. */
export function roomForTail(tail: string): Record<string, string> | undefined {
  return tail ? { "--tail": `${(widthOf(tail) + 0.2).toFixed(1)}ch` } : undefined;
}

const NARROW = /[ .,:;'|!()[\]{}/\\ijltfrI-]/g;
const CAPITAL = /[A-HJ-LN-VX-Z]/g;
const BROAD = /[mwMW%@]/g;
/** Letters of scripts in which each stands in a square, and pictures. */
const SQUARE =
  /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uff60]|\p{Emoji_Presentation}/gu;

/** How wide a text is in digits, nearly: measuring each would take longer than drawing it. */
export function widthOf(text: string): number {
  const count = (letters: RegExp) => text.match(letters)?.length ?? 0;
  const wider = 0.2 * count(CAPITAL) + 0.45 * count(BROAD) + 0.8 * count(SQUARE);
  return text.length - 0.5 * count(NARROW) + wider;
}
