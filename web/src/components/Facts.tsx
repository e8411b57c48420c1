import type { Facts as FactsBlock } from "../document/types";

/** Labels and what they stand for. */
export function Facts({ block }: { block: FactsBlock }) {
  return (
    <dl class="facts">
      {block.rows.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
