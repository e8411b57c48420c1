// Links within a report: to a section, and to what to look for in its tables.

import { asClock } from "../components/clocks";
import { type Links, NO_LINKS } from "../components/links";
import type { DocumentState } from "../components/state";
import type { Clock, Document } from "../document/types";

export interface Anchor {
  section: string;
  search: string;
  /** The clock, unless it is the default of the document. */
  clock?: Clock | undefined;
}

export function anchor({ section, search, clock }: Anchor): string {
  const entries = Object.entries({ search, clock }).filter(([, text]) => text) as string[][];
  const query = entries.map(([name, text = ""]) => `${name}=${encodeURIComponent(text)}`);
  return `#${encodeURIComponent(section)}${query.length ? `?${query.join("&")}` : ""}`;
}

export function readAnchor(hash: string): Anchor {
  const [section = "", query] = hash.replace(/^#/, "").split("?");
  try {
    const entries = new URLSearchParams(query);
    const clock = asClock(entries.get("clock"));
    const search = entries.get("search") ?? "";
    return { section: decodeURIComponent(section), search, ...(clock && { clock }) };
  } catch {
    return { section: "", search: "" }; // Someone's own hash, with a lone percent sign.
  }
}

/** Cards lead to sections of the document; cells, which stand in the tables themselves, nowhere. */
export function anchorLinks(document: Document): Links {
  const sections = new Set(document.sections.map(({ id }) => id));
  return {
    ...NO_LINKS,
    hrefOfLink: ({ section, search }) =>
      sections.has(section) ? anchor({ section, search }) : null,
  };
}

/** The state in which the tables of a section show what is searched; others stay as they are. */
export function stateWithSearch(
  document: Document,
  state: DocumentState,
  section: string,
  search: string,
): DocumentState {
  const blocks = document.sections.find(({ id }) => id === section)?.blocks ?? [];
  const tables = { ...state.tables };
  for (const block of blocks) {
    if (block.type === "table" || block.type === "tree")
      tables[block.id] = { ...tables[block.id], search };
  }
  return { ...state, tables };
}
