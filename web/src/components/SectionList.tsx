import { useContext, useMemo } from "preact/hooks";
import type { Document, Section } from "../document/types";
import { CLOCKS } from "./clocks";
import { LinksContext } from "./links";
import { SectionView } from "./SectionView";

interface SectionListProps {
  document: Document;
  /** Those of its sections that are shown. */
  sections: Section[];
}

/** Sections; times in them are of their clock, or else of the document's. */
export function SectionList({ document, sections }: SectionListProps) {
  const links = useContext(LinksContext);
  const byClock = useMemo(
    () => new Map(CLOCKS.map(([clock]) => [clock, links.onClock?.(clock) ?? links])),
    [links],
  );
  return (
    <div class="sections">
      {sections.map((section) => {
        const clock = section.clock || document.clock;
        return (
          <LinksContext.Provider
            key={section.id + section.clock}
            value={(clock ? byClock.get(clock) : null) ?? links}
          >
            <SectionView section={section} />
          </LinksContext.Provider>
        );
      })}
    </div>
  );
}
