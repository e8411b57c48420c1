import { useEffect, useRef, useState } from "preact/hooks";
import type { Section } from "../document/types";

/** The sections as a list; the one being read is marked. */
export function SectionNav({ sections }: { sections: Section[] }) {
  const current = useSectionInView(sections);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // On a narrow page the list is a line that moves along.
    const link = list.current?.querySelector<HTMLElement>("[aria-current]");
    if (list.current && link) list.current.scrollLeft = link.offsetLeft - list.current.offsetLeft;
  }, [current]);
  return (
    <nav class="section-nav" aria-label="Sections">
      <ul ref={list}>
        {sections.map(({ id, title }) => (
          <li key={id}>
            <a href={`#${id}`} aria-current={id === current ? "location" : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function useSectionInView(sections: Section[]): string | undefined {
  const [current, setCurrent] = useState(sections[0]?.id);
  useEffect(() => {
    const look = () => setCurrent(sectionInView(sections));
    look();
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, [sections]);
  return current;
}

function sectionInView(sections: Section[]): string | undefined {
  const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
  // At the ends of the page the first and the last section are read, however short they are.
  if (scrollTop <= 0) return sections[0]?.id;
  if (scrollTop + clientHeight >= scrollHeight - 2) return sections.at(-1)?.id;
  const started = sections.filter(({ id }) => {
    const element = document.getElementById(id);
    return element !== null && element.getBoundingClientRect().top < clientHeight * 0.3;
  });
  return (started.at(-1) ?? sections[0])?.id;
}
