// Links within a report: to a section, and to what to look for in its tables.

import { type Links, NO_LINKS } from "../components/links";
import type { DocumentState } from "../components/state";
import type { Document } from "../document/types";

export interface Anchor {
  section: string;
  search: string;
}

export function anchor({ section, search }: Anchor): string {
  const query = search ? `?search=${encodeURIComponent(search)}` : "";
  return `#${encodeURIComponent(section)}${query}`;
}

export function readAnchor(hash: string): Anchor {
  const [section = "", query] = hash.replace(/^#/, "").split("?");
  try {
    const search = new URLSearchParams(query).get("search") ?? "";
    return { section: decodeURIComponent(section), search };
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
export function searchedState(
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
