import type { ComponentChildren } from "preact";
import type { Document } from "../document/types";
import { Icon, iconOfTone } from "./Icon";
import { Prose } from "./Prose";
import { firstSentence } from "./sentences";

/** From here on a sentence is set smaller. */
const LONG = 110;

/** What was read and the answer in a sentence: the first thing one sees. */
export function Headline({
  document,
  children,
}: {
  document: Document;
  /** What stands below the answer, e.g. a switch. */
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
