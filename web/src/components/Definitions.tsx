import { Icon } from "./Icon";

export interface Definition {
  term: string;
  help: string;
}

/** Definitions of terms, collapsed, for readers who cannot hover. */
export function Definitions({ of, meanings }: { of: string; meanings: Definition[] }) {
  const explained = meanings.filter(({ help }) => help);
  if (!explained.length) return null;
  return (
    <details class="meanings">
      <summary>
        <Icon name="down" size={12} />
        What the {of} mean
      </summary>
      <dl>
        {explained.map(({ term, help }) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{help}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
