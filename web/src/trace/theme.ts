// Colours of a canvas, taken from the style sheet so that both always agree.

import { type Palette, palette } from "./colours";

export interface Theme {
  dark: boolean;
  ground: string;
  raised: string;
  sunken: string;
  line: string;
  text: string;
  quiet: string;
  accent: string;
  curve: string;
  font: string;
  palette: Palette;
}

/** The theme of the page as it is now. */
export function currentTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name).trim();
  const ground = value("--ground");
  const dark = Number.parseInt(ground.slice(1, 3), 16) < 128;
  const { fills, text } = palette(dark);
  const overlays = [value("--over-recording"), value("--over-path")];
  return {
    dark,
    ground,
    raised: value("--raised"),
    sunken: value("--sunken"),
    line: value("--line"),
    text: value("--text"),
    quiet: value("--quiet"),
    accent: value("--accent"),
    curve: value("--part-3"),
    font: value("--sans"),
    palette: { fills: [...fills, ...overlays], text },
  };
}
