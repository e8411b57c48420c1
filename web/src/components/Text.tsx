import type { Text as TextBlock } from "../document/types";
import { Icon, iconOfTone } from "./Icon";
import { Prose } from "./Prose";

/** A paragraph; with a tone, a note with its icon. */
export function Text({ block }: { block: TextBlock }) {
  if (block.tone === "plain")
    return (
      <p class="text">
        <Prose text={block.text} />
      </p>
    );
  return (
    <p class={`note tone-${block.tone}`}>
      <Icon name={iconOfTone(block.tone)} />
      <span>
        <Prose text={block.text} />
      </span>
    </p>
  );
}
