// Colours of a heat map: they get darker (on dark ground: lighter) all along, so hue says nothing.

import { colourOf } from "../theme";

const STOPS = 6;
const STEPS = 64;

/** Colours from nothing to the largest value. */
export function heatColours(): string[] {
  const stops = Array.from({ length: STOPS }, (_, at) => parse(colourOf(`--heat-${at}`)));
  return Array.from({ length: STEPS }, (_, at) => between(stops, at / (STEPS - 1)));
}

/** The colour of a place on the scale, 0 to 1. */
export function colourAt(colours: readonly string[], place: number): string {
  return colours[Math.round(place * (colours.length - 1))] ?? "";
}

type Rgb = [red: number, green: number, blue: number];

/** `#rrggbb` as numbers; black for anything else. */
export function parse(colour: string): Rgb {
  const value = /^#[\da-f]{6}$/i.test(colour) ? Number.parseInt(colour.slice(1), 16) : 0;
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The colour at a place among stops that are equally far apart. */
export function between(stops: readonly Rgb[], place: number): string {
  const at = Math.min(Math.max(place, 0), 1) * (stops.length - 1);
  const first = stops[Math.floor(at)] ?? [0, 0, 0];
  const second = stops[Math.ceil(at)] ?? first;
  const mixed = first.map((value, index) =>
    Math.round(value + (at % 1) * ((second[index] ?? value) - value)),
  );
  return `rgb(${mixed.join(" ")})`;
}
