import type { Verdict as VerdictBlock } from "../document/types";
import { format, formatSigned } from "../format/format";
import { Icon, type IconName } from "./Icon";
import { Prose } from "./Prose";
import { roundOutward, scaleAround, spanOn, spreadLabels } from "./scale";

const LOOKS: Record<VerdictBlock["verdict"], [IconName, tone: string]> = {
  regression: ["slower", "bad"],
  improvement: ["faster", "good"],
  no_change: ["same", "notice"],
  undecided: ["unknown", "notice"],
  incomparable: ["unknown", "warning"],
};

/** The verdict in a word and a sentence, both sides, and the interval around zero. */
export function Verdict({ block }: { block: VerdictBlock }) {
  const [icon, tone] = LOOKS[block.verdict] ?? LOOKS.incomparable;
  return (
    <div class={`verdict tone-${tone}`}>
      <div class="word">
        <Icon name={icon} size={30} />
        <strong>{block.word}</strong>
        {block.change !== null && <span class="change">{formatSigned("share", block.change)}</span>}
      </div>
      <p class="sentence">
        <Prose text={block.sentence} />
      </p>
      <div class="measured">
        <dl>
          <dt>{block.base.label}</dt>
          <dd>{format(block.kind, block.base.value)}</dd>
          <dt>{block.new.label}</dt>
          <dd>{format(block.kind, block.new.value)}</dd>
        </dl>
        <Interval block={block} />
      </div>
      {block.notes.length > 0 && (
        <ul class="notes">
          {block.notes.map((note) => (
            <li key={note}>
              <Prose text={note} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Interval({ block }: { block: VerdictBlock }) {
  const { change, low, high } = block;
  if (change === null || low === null || high === null) return null;
  const scale = scaleAround([change, low, high]);
  const [min, max] = roundOutward(low, high).map((end) => formatSigned("share", end));
  const description = `${formatSigned("share", change)}, between ${min} and ${max}`;
  const ends = spreadLabels([
    { at: scale(0), text: "0" },
    { at: scale(low), text: min as string },
    { at: scale(high), text: max as string },
  ]);
  return (
    <div class="interval" role="img" aria-label={description} title={description}>
      <div class="axis">
        <div class="zero" style={{ left: `${scale(0)}%` }} />
        <div class="range" style={spanOn(scale, low, high)} />
        <div class="dot" style={{ left: `${scale(change)}%` }} />
      </div>
      <div class="ends" aria-hidden="true">
        {ends.map(({ at, text }) => (
          <span key={text} style={{ left: `${at}%` }}>
            {text}
          </span>
        ))}
      </div>
    </div>
  );
}
