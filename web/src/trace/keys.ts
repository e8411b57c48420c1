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
  [["0"], "show everything"],
  [["←", "→"], "previous and next slice of the row"],
  [["↑", "↓"], "slice around, first slice within"],
  [["F"], "bring the chosen slice into full view"],
  [["M"], "choose the time of the chosen slice as a range; also double click"],
  [["Shift + drag"], "choose a range of time; also drag on the ruler"],
  [["L"], "show or hide arrows from launches to device work"],
  [["C"], "show or hide the critical path: what decides how long it takes"],
  [["R"], "show or hide what recording cost"],
  [["O"], "switch between the program's own clock and the recorded one"],
  [["/"], "search; Enter and Shift + Enter go through what was found, N and P as well"],
  [["PgUp", "PgDn"], "scroll through tracks"],
  [["Esc"], "clear choice, range and search, one by one"],
  [["?"], "show or hide this sheet"],
];

type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

/** What a key asks for; null where it is not ours. */
export function commandOf({ key, ctrlKey, metaKey, altKey }: KeyPress): Command | null {
  if (ctrlKey || metaKey || altKey) return null;
  return KEYS[key.toLowerCase()] ?? null;
}
