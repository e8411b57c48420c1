import type { Facts as FactsBlock } from "../document/types";

/** Labels with their values. */
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
