// Colours of slices: a family of hues by what a slice is, a shade by its name.

import type { Track } from "./types";

/** Each family: hues and how strong they are; the order gives the numbers of colours. */
const FAMILIES = {
  host: { hues: [212, 190, 152], strength: 0.62 },
  annotation: { hues: [88, 74, 104], strength: 0.4 },
  communication: { hues: [292, 306, 278], strength: 0.45 },
  matmul: { hues: [32, 38, 26], strength: 0.78 },
  convolution: { hues: [12, 6, 18], strength: 0.7 },
  attention: { hues: [52, 48, 57], strength: 0.72 },
  reduction: { hues: [150, 160, 142], strength: 0.45 },
  elementwise: { hues: [206, 214, 199], strength: 0.55 },
  copy: { hues: [186, 181, 191], strength: 0.42 },
  device: { hues: [24, 214, 168], strength: 0.24 },
} as const;

type Family = keyof typeof FAMILIES;

/** Shades of one hue; lightness of the light theme, the dark one mirrors it. */
const LIGHTNESS = [0.64, 0.73, 0.82];

/** What names of device work tell about it; the first that fits decides. */
const DEVICE: [pattern: RegExp, family: Family][] = [
  [
    /nccl|rccl|hccl|cncl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast_/i,
    "communication",
  ],
  [/memcpy|memset|\bcopy|dma/i, "copy"],
  [/flash|fmha|attention|attn|softmax|sdpa/i, "attention"],
  [/conv|wgrad|dgrad|fprop|winograd|im2col/i, "convolution"],
  [/gemm|gemv|matmul|cutlass|xmma|wgmma|nvjet|cublas|splitk|\bmm\b/i, "matmul"],
  [/reduce|norm|welford|cunn|cumsum|sort|topk|scan/i, "reduction"],
  [
    /elementwise|vectorized|multi_tensor|foreach|pointwise|adam|sgd|fill|dropout|index|gather|scatter|cat/i,
    "elementwise",
  ],
];

const FAMILY_NAMES = Object.keys(FAMILIES) as Family[];
const SHADES = 9;
/** Contrast that small text needs. */
const READABLE = 4.5;

/** The colour of slices that a search did not find. */
export const DIM = FAMILY_NAMES.length * SHADES;
export const COLOURS = DIM + 1;
/** The colours of what is drawn over slices, which a theme adds. */
export const OVERLAY_COLOURS = { recording: COLOURS, path: COLOURS + 1 } as const;

/** Number of the colour of a slice; names that differ in digits only get the same. */
export function colourOf(kind: Track["kind"], name: string): number {
  const family = familyOf(kind, name);
  return FAMILY_NAMES.indexOf(family) * SHADES + (hash(name.replace(/\d+/g, "")) % SHADES);
}

/** The colour that stands for all of a kind of track. */
export function plainColour(kind: Track["kind"]): number {
  const family = kind === "device" ? "matmul" : familyOf(kind, "");
  return FAMILY_NAMES.indexOf(family) * SHADES;
}

export function familyOf(kind: Track["kind"], name: string): Family {
  if (kind === "annotation" || kind === "communication") return kind;
  if (kind !== "device") return "host";
  return DEVICE.find(([pattern]) => pattern.test(name))?.[1] ?? "device";
}

export interface Palette {
  /** By number of the colour. */
  fills: string[];
  /** Readable on every fill but the dim one. */
  text: string;
}

export function palette(dark: boolean): Palette {
  const text = dark ? "#f4f6fa" : "#15181d";
  const fills: string[] = [];
  for (const family of FAMILY_NAMES) {
    const { hues, strength } = FAMILIES[family];
    for (let shade = 0; shade < SHADES; shade++) {
      const hue = hues[Math.floor(shade / LIGHTNESS.length) % hues.length]!;
      const light = LIGHTNESS[shade % LIGHTNESS.length]!;
      fills.push(readable(hue, dark ? strength * 0.8 : strength, dark ? 1.1 - light : light, text));
    }
  }
  fills.push(dark ? "#2b313b" : "#e4e7ec");
  return { fills, text };
}

/** The nearest to a colour on which the text can be read: hues differ in how bright they look. */
function readable(hue: number, saturation: number, lightness: number, text: string): string {
  const away = luminance(text) > 0.5 ? -0.01 : 0.01;
  let fill = hex(hue, saturation, lightness);
  for (let now = lightness; contrast(fill, text) < READABLE; now += away) {
    fill = hex(hue, saturation, now);
  }
  return fill;
}

/** Contrast of two colours as WCAG counts it: 1 to 21. */
export function contrast(first: string, second: string): number {
  const [a, b] = [luminance(first), luminance(second)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

/** Hue (degrees), saturation and lightness (0 to 1) as #rrggbb. */
function hex(hue: number, saturation: number, lightness: number): string {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const part = (n: number) => {
    const k = (n + hue / 30) % 12;
    const value = lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return (value ^ (value >>> 15)) >>> 0;
}
