import type { Attribution as AttributionBlock } from "../document/types";
import { format, formatSigned } from "../format/format";
import { Caption } from "./Caption";
import { type Scale, scaleOfChanges, spanOn } from "./scale";

type Row = AttributionBlock["rows"][number];

/** Parts of a change: a bar each, to the right for more time, to the left for less. */
export function Attribution({ block }: { block: AttributionBlock }) {
  const scale = scaleOfChanges(block.rows);
  return (
    <figure class="attribution">
      <Caption title={block.title} />
      <table>
        <thead>
          <tr>
            <th scope="col">part</th>
            <th scope="col" class="direction">
              <span>◂ less</span>
              <span>more ▸</span>
            </th>
            <th scope="col" class="number">
              change
            </th>
            <th scope="col" class="number sides">
              base → new
            </th>
          </tr>
        </thead>
        <tbody>
          {block.rows.map((row) => (
            <AttributionRow key={row.id} row={row} block={block} scale={scale} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">total</th>
            <td />
            <td class="number">{formatSigned(block.kind, block.change)}</td>
            <td class="sides" />
          </tr>
        </tfoot>
      </table>
    </figure>
  );
}

function AttributionRow(props: { row: Row; block: AttributionBlock; scale: Scale }) {
  const { row, block, scale } = props;
  const { kind } = block;
  const interval =
    row.low === null || row.high === null
      ? ""
      : `, between ${formatSigned(kind, row.low)} and ${formatSigned(kind, row.high)}`;
  const noise = row.sure ? "" : ", within the noise";
  const description = `${row.name}: ${formatSigned(kind, row.change)}${interval}${noise}. ${row.help}`;
  return (
    <tr class={row.sure ? "" : "unsure"} title={description}>
      <th scope="row">{row.name}</th>
      <td class="bar">
        <div class="zero" style={{ left: `${scale(0)}%` }} />
        <div
          class={`fill ${row.change < 0 ? "less" : "more"}`}
          style={spanOn(scale, 0, row.change)}
        />
        {row.low !== null && row.high !== null && (
          <div class="whisker" style={spanOn(scale, row.low, row.high)} />
        )}
      </td>
      <td class="number">
        {!row.sure && <span class="noise">noise </span>}
        {formatSigned(kind, row.change)}
      </td>
      <td class="number sides">
        {format(kind, row.base)} → {format(kind, row.new)}
      </td>
    </tr>
  );
}
