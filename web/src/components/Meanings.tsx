import { Icon } from "./Icon";

export interface Meaning {
  term: string;
  help: string;
}

/** What words mean, folded away: hovering is not for everyone. */
export function Meanings({ of, meanings }: { of: string; meanings: Meaning[] }) {
  const told = meanings.filter(({ help }) => help);
  if (!told.length) return null;
  return (
    <details class="meanings">
      <summary>
        <Icon name="down" size={12} />
        What the {of} mean
      </summary>
      <dl>
        {told.map(({ term, help }) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{help}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
