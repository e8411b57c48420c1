import type { Finding, Findings as FindingsBlock, Tone } from "../document/types";
import { Advice, Cards, Evidence } from "./CardParts";
import { Icon, iconOfTone } from "./Icon";
import { Prose } from "./Prose";

const TONE: Record<Finding["severity"], Tone> = { high: "bad", medium: "warning", low: "notice" };

/** Findings with advice, by severity. */
export function Findings({ block }: { block: FindingsBlock }) {
  return (
    <Cards empty={block.empty} tone="good">
      {block.items.map((item, index) => (
        <FindingCard key={`${item.rule} ${index}`} item={item} />
      ))}
    </Cards>
  );
}

function FindingCard({ item }: { item: Finding }) {
  const tone = TONE[item.severity] ?? "notice";
  return (
    <li class={`card tone-${tone}`}>
      <p class="kicker">
        <Icon name={iconOfTone(tone)} size={14} />
        <span class="badge">{item.severity}</span>
        {item.gain && <span class="gain">{item.gain}</span>}
      </p>
      <h3>{item.title}</h3>
      <p>
        <Prose text={item.sentence} />
      </p>
      <Advice text={item.advice} />
      <Evidence lines={item.evidence} links={item.links} />
    </li>
  );
}
