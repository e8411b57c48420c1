import type { Stacks as StacksBlock } from "../document/types";
import { format } from "../format/format";
import { Caption } from "./Caption";
import { partColour } from "./colours";

/** One bar of parts per step, all on one scale. */
export function Stacks({ block }: { block: StacksBlock }) {
  const totals = block.labels.map((_, at) => sum(block.parts.map(({ values }) => values[at] ?? 0)));
  const max = Math.max(...totals, Number.MIN_VALUE);
  return (
    <figure class="stacks">
      <Caption title={block.title} />
      <ul class="legend">
        {block.parts.map((part, index) => (
          <li key={part.id}>
            <span class="swatch" style={{ background: partColour(part.id, index) }} />
            {part.name}
          </li>
        ))}
      </ul>
      <div class="bars">
        <table>
          <tbody>
            {block.labels.map((label, at) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>
                  <div class="bar" style={{ width: `${(100 * (totals[at] ?? 0)) / max}%` }}>
                    {block.parts.map((part, index) => (
                      <div
                        key={part.id}
                        style={{
                          flexGrow: part.values[at] ?? 0,
                          background: partColour(part.id, index),
                        }}
                        title={`${label}, ${part.name}: ${format(block.kind, part.values[at])}`}
                      />
                    ))}
                  </div>
                </td>
                <td class="number">{format(block.kind, totals[at])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
