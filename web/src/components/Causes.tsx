import type { Cause, Causes as CausesBlock, Tone } from "../document/types";
import { format, formatSigned } from "../format/format";
import { Advice, Cards, Evidence, ShareBar } from "./CardParts";
import { Icon, iconOfTone } from "./Icon";
import { Prose } from "./Prose";

/** Causes of a change, or anomalies, largest first. */
export function Causes({ block }: { block: CausesBlock }) {
  return (
    <Cards empty={block.empty} tone="notice">
      {block.items.map((item, index) => (
        <CauseCard key={`${item.cause} ${index}`} item={item} />
      ))}
    </Cards>
  );
}

function CauseCard({ item }: { item: Cause }) {
  // The cost of a straggler is no change: it has no sign.
  const isCost = item.role === "straggler";
  const tone: Tone = item.role === "cause" || isCost ? "bad" : "warning";
  return (
    <li class={`card tone-${tone}`}>
      <p class="kicker">
        <Icon name={iconOfTone(tone)} size={14} />
        <span class="badge">{item.role}</span>
        {item.explained !== null && (
          <span class="gain">{(isCost ? format : formatSigned)(item.kind, item.explained)}</span>
        )}
        {item.share !== null && (
          <ShareBar
            share={item.share}
            words={`${format("share", item.share)} ${item.share_word}`}
          />
        )}
      </p>
      <h3>
        {item.title} <code class="quiet">{item.cause}</code>
      </h3>
      <p>
        <Prose text={item.sentence} />
      </p>
      <Advice text={item.advice} />
      <Evidence lines={item.evidence} links={item.links} />
    </li>
  );
}
