import type { Tone } from "../document/types";

// Strokes on a field of 16 by 16.  Each shape differs from the others, so that none needs its colour.
const SHAPES = {
  good: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13M5 8.2l2.1 2.1L11 6",
  notice: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13M8 7.3v3.9M8 4.8v.1",
  warning: "M8 2L1.6 13.5h12.8zM8 6.4v3.4M8 11.6v.1",
  bad: "M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3zM8 4.6v4M8 11.2v.1",
  slower: "M2 11.5l4-4l3 3L14 4.5M10 4.5h4v4",
  faster: "M2 4.5l4 4l3-3L14 11.5M10 11.5h4v-4",
  same: "M3 6h10M3 10h10",
  unknown: "M5.8 6a2.3 2.3 0 1 1 3.4 2c-.8.45-1.2.9-1.2 1.9M8 12.2v.1",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9M10.3 10.3L14 14",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  down: "M4 6l4 4l4-4",
  up: "M4 10l4-4l4 4",
  sun: "M8 5a3 3 0 1 0 0 6a3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9L13 13M13 3l-1.1 1.1M4.1 11.9L3 13",
  moon: "M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5A5.8 5.8 0 1 0 13.5 9.6z",
  auto: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13M8 1.5v13M8 5h4M8 8h5M8 11h4",
  advice: "M5.5 10.5a4.2 4.2 0 1 1 5 0v1.7h-5zM6.3 14.3h3.4",
  link: "M6 10l4.5-4.5M6.5 5h4v4",
  reset: "M3 3v3.5h3.5M3.3 6.3A5.2 5.2 0 1 1 3 9.5",
  print: "M4.5 6V2h7v4M4.5 11.5h-2V6h11v5.5h-2M4.5 9.5h7V14h-7z",
  close: "M4 4l8 8M12 4l-8 8",
} as const;

export type IconName = keyof typeof SHAPES;

/** A small drawing beside a word; the word says what it means. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={SHAPES[name]} />
    </svg>
  );
}

const TONE_ICONS: Record<Tone, IconName> = {
  plain: "notice",
  good: "good",
  notice: "notice",
  warning: "warning",
  bad: "bad",
};

/** The icon of a tone; "plain" has that of a notice. */
export function iconOfTone(tone: Tone): IconName {
  return TONE_ICONS[tone] ?? "notice";
}
