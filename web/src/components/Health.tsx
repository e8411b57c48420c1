import type { Health as HealthBlock, Tone } from "../document/types";
import { format } from "../format/format";
import { Icon, iconOfTone } from "./Icon";
import { Prose } from "./Prose";

const TONE: Record<HealthBlock["items"][number]["severity"], Tone> = {
  error: "bad",
  warning: "warning",
  info: "notice",
};

/** Problems of a recording, their consequence and advice. */
export function Health({ block }: { block: HealthBlock }) {
  if (!block.items.length) {
    return (
      <p class="note tone-good">
        <Icon name="good" />
        <span>No problems found in the recording.</span>
      </p>
    );
  }
  return (
    <ul class="health">
      {block.items.map((item) => {
        const tone = TONE[item.severity] ?? "notice";
        return (
          <li key={item.code} class={`tone-${tone}`}>
            <Icon name={iconOfTone(tone)} />
            <div>
              <h3>
                <span class="badge">{item.severity}</span> {item.title}
                {item.count > 1 && <span class="quiet"> × {format("count", item.count)}</span>}
              </h3>
              {item.told && <p class="readout">{item.told}</p>}
              <p>
                <Prose text={joinSentences(item.consequence, item.advice)} />
              </p>
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** Clauses as sentences. */
function joinSentences(...clauses: string[]): string {
  return clauses
    .filter(Boolean)
    .map((clause) => clause[0]?.toUpperCase() + clause.slice(1).replace(/\.?$/, "."))
    .join(" ");
}
