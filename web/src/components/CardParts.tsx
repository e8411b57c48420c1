// Common parts of the cards of findings and causes.

import type { ComponentChild } from "preact";
import { useContext } from "preact/hooks";
import type { Link } from "../document/types";
import { Icon } from "./Icon";
import { LinksContext } from "./links";
import { Prose } from "./Prose";
import { roomForTail, splitName } from "./table/names";

interface CardsProps {
  children: ComponentChild[];
  /** Text without any card, and its tone. */
  empty: string;
  tone: "good" | "notice";
}

/** Cards, or a note without any. */
export function Cards({ children, empty, tone }: CardsProps) {
  if (children.length) return <ol class="cards">{children}</ol>;
  return (
    <p class={`note tone-${tone}`}>
      <Icon name={tone} />
      <span>{empty}</span>
    </p>
  );
}

/** Advice of a card. */
export function Advice({ text }: { text: string }) {
  if (!text) return null;
  return (
    <p class="advice">
      <Icon name="advice" />
      <span>
        <span class="visually-hidden">Advice: </span>
        <Prose text={text} />
      </span>
    </p>
  );
}

/** Evidence and links of a card, collapsed. */
export function Evidence({ lines, links }: { lines: string[]; links: Link[] }) {
  if (!lines.length && !links.length) return null;
  return (
    <details class="evidence">
      <summary>
        <Icon name="down" size={12} />
        Evidence
      </summary>
      {lines.length > 0 && (
        <ul>
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      <CardLinks links={links} />
    </details>
  );
}

function CardLinks({ links }: { links: Link[] }) {
  const { hrefOfLink } = useContext(LinksContext);
  if (!links.length) return null;
  return (
    <ul class="links">
      {links.map((link) => {
        const href = hrefOfLink(link);
        const [head, tail] = splitName(link.label);
        const label = (
          <span class="name" title={link.label} style={roomForTail(tail)}>
            <span class="head">{head}</span>
            {tail}
          </span>
        );
        return (
          <li key={`${link.section} ${link.search} ${link.label} ${link.from_ns}`}>
            {href ? <a href={href}>{label}</a> : label}
          </li>
        );
      })}
    </ul>
  );
}

/** A share as a short bar with text. */
export function ShareBar({ share, words }: { share: number; words: string }) {
  return (
    <span class="share-bar">
      <span class="meter" aria-hidden="true">
        <span style={{ width: `${100 * Math.min(Math.max(share, 0), 1)}%` }} />
      </span>
      {words}
    </span>
  );
}
