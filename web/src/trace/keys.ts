// What keys do.

export type Command =
  | "zoom in"
  | "zoom out"
  | "left"
  | "right"
  | "focus"
  | "range"
  | "search"
  | "next hit"
  | "previous hit"
  | "next"
  | "previous"
  | "outer"
  | "inner"
  | "flows"
  | "path"
  | "recording"
  | "clock"
  | "fit"
  | "clear"
  | "help"
  | "up"
  | "down";

const KEYS: Record<string, Command> = {
  w: "zoom in",
  "+": "zoom in",
  "=": "zoom in",
  s: "zoom out",
  "-": "zoom out",
  a: "left",
  d: "right",
  f: "focus",
  m: "range",
  "/": "search",
  n: "next hit",
  p: "previous hit",
  arrowright: "next",
  arrowleft: "previous",
  arrowup: "outer",
  arrowdown: "inner",
  l: "flows",
  c: "path",
  r: "recording",
  o: "clock",
  0: "fit",
  home: "fit",
  escape: "clear",
  "?": "help",
  pageup: "up",
  pagedown: "down",
};

/** For the sheet of keys: what to press and what it does. */
export const SHEET: [keys: string[], what: string][] = [
  [["W", "S"], "zoom in and out at the pointer; also Ctrl + wheel or a pinch"],
  [["A", "D"], "move left and right; also Shift + wheel, or drag"],
  [["0"], "fit the whole recording"],
  [["←", "→"], "previous and next slice in the row"],
  [["↑", "↓"], "enclosing slice, first nested slice"],
  [["F"], "zoom to the selected slice"],
  [["M"], "select the time of the slice as a range; also double click"],
  [["Shift + drag"], "select a time range; also drag on the ruler"],
  [["L"], "show or hide arrows from kernel launches to device work"],
  [["C"], "show or hide the critical path"],
  [["R"], "show or hide profiler overhead"],
  [["O"], "switch between times without profiler overhead and as recorded"],
  [["/"], "search; Enter and Shift + Enter (or N and P) step through matches"],
  [["PgUp", "PgDn"], "scroll through tracks"],
  [["Esc"], "clear selection, range and search, one at a time"],
  [["?"], "show or hide this help"],
];

type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

/** What a key asks for; null where it is not ours. */
export function commandOf({ key, ctrlKey, metaKey, altKey }: KeyPress): Command | null {
  if (ctrlKey || metaKey || altKey) return null;
  return KEYS[key.toLowerCase()] ?? null;
}
