// Links of cells and cards: pages in the app, anchors in a report.

import { createContext } from "preact";
import type { Clock, Column, Link } from "../document/types";

/** A row of a table, by the keys of its columns. */
export type RowValues = Record<string, string | number | null>;

/** Of two runs that are compared. */
export type Side = "base" | "new";

export interface Links {
  /** Address behind a cell of a column with a `link`; null where it leads nowhere. */
  hrefOfCell(link: Column["link"], text: string, row: RowValues): string | null;
  /** Address behind a link of a card; null where it is to be shown as text. */
  hrefOfLink(link: Link): string | null;
  /** Address of a moment in the timeline of one of two runs, with a name looked for there. */
  hrefOfMoment(side: Side, at_ns: number, name: string): string | null;
  /** The same for moments of a clock. */
  onClock?(clock: Clock): Links;
}

export const NO_LINKS: Links = {
  hrefOfCell: () => null,
  hrefOfLink: () => null,
  hrefOfMoment: () => null,
};

/** Set by `DocumentView`; blocks outside of one need their own provider. */
export const LinksContext = createContext<Links>(NO_LINKS);
