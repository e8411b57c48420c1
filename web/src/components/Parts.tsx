import type { Parts as PartsBlock } from "../document/types";
import { format } from "../format/format";
import { Caption } from "./Caption";
import { partColour } from "./colours";
import { Definitions } from "./Definitions";

/** A whole and its parts, as one bar and as a table that is its legend. */
export function Parts({ block }: { block: PartsBlock }) {
  const share = (value: number) => (block.total > 0 ? value / block.total : 0);
  return (
    <figure class="parts">
      <Caption title={block.title} />
      <div class="stacked-bar" aria-hidden="true">
        {block.parts.map(
          (part, index) =>
            part.value > 0 && (
              <div
                key={part.id}
                title={`${part.name}: ${format(block.kind, part.value)}, ${format("share", share(part.value))}`}
                style={{ flexGrow: share(part.value), background: partColour(part.id, index) }}
              >
                {share(part.value) >= 0.08 && <span>{format("share", share(part.value))}</span>}
              </div>
            ),
        )}
      </div>
      <table>
        <tbody>
          {block.parts.map((part, index) => (
            <tr key={part.id}>
              <th scope="row">
                <span class="swatch" style={{ background: partColour(part.id, index) }} />
                {part.name}
              </th>
              <td class="number">{format(block.kind, part.value)}</td>
              <td class="number">{format("share", share(part.value))}</td>
              <td class="help">{part.help}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">
              <span class="swatch" />
              total
            </th>
            <td class="number">{format(block.kind, block.total)}</td>
            <td />
            <td />
          </tr>
        </tfoot>
      </table>
      <Definitions
        of="parts"
        meanings={block.parts.map(({ name, help }) => ({ term: name, help }))}
      />
    </figure>
  );
}
