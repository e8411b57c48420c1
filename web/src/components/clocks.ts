// Sections of two clocks, of which a page shows one at a time.

import type { Clock, Document, Section } from "../document/types";

export const CLOCKS = [
  ["own", "Without profiler overhead"],
  ["recorded", "As recorded"],
] as const;

/** The default clock of a document with sections of both; else undefined. */
export function firstClock({ sections, clock: documentClock }: Document): Clock | undefined {
  const clocks = sections.flatMap(({ clock }) => clock || []);
  return new Set(clocks).size > 1 ? documentClock || clocks[0] : undefined;
}

/** The clock to show: the selected one, where there is a choice. */
export function currentClock(document: Document, chosen: Clock | undefined): Clock | undefined {
  const first = firstClock(document);
  return first && (chosen ?? first);
}

/** The sections of a clock, and those of none. */
export function sectionsOf({ sections }: Document, clock: Clock | undefined): Section[] {
  return clock ? sections.filter((section) => !section.clock || section.clock === clock) : sections;
}

export function asClock(text: string | null | undefined): Clock | undefined {
  return text === "own" || text === "recorded" ? text : undefined;
}
