import type { ComponentChildren } from "preact";
import type { Document } from "../document/types";
import { Icon, iconOfTone } from "./Icon";
import { Prose } from "./Prose";
import { firstSentence } from "./sentences";

/** Characters from which a headline has smaller type. */
const LONG = 110;

/** Subject and headline of a document. */
export function Headline({
  document,
  children,
}: {
  document: Document;
  /** Content below the headline, e.g. a switch. */
  children?: ComponentChildren;
}) {
  const [first, rest] = firstSentence(document.headline);
  return (
    <header class={`headline tone-${document.tone}`}>
      <p class="subject">{document.subject}</p>
      <h1 class={first.length > LONG ? "long" : ""}>
        {document.tone !== "plain" && <Icon name={iconOfTone(document.tone)} size={22} />}
        <span>
          <Prose text={first} />
        </span>
      </h1>
      {rest && (
        <p class="more">
          <Prose text={rest} />
        </p>
      )}
      {children}
    </header>
  );
}
