import type { Code as CodeBlock } from "../document/types";
import { Icon } from "./Icon";

/** Code, folded up: a kernel has some hundred lines. */
export function Code({ block }: { block: CodeBlock }) {
  return (
    <details class="code">
      <summary>
        <Icon name="down" />
        {block.title}
      </summary>
      {block.note && <p class="quiet">{block.note}</p>}
      <pre>
        <code>{block.lines.join("\n")}</code>
      </pre>
    </details>
  );
}
