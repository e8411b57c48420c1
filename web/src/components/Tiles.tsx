import { useContext } from "preact/hooks";
import type { Tile, Tiles as TilesBlock } from "../document/types";
import { formatParts } from "../format/format";
import { Definitions } from "./Definitions";
import { Icon, iconOfTone } from "./Icon";
import { LinksContext } from "./links";

/** Key figures. */
export function Tiles({ block }: { block: TilesBlock }) {
  return (
    <div>
      <dl class="tiles">
        {block.tiles.map((tile) => (
          <TileView key={tile.label} tile={tile} />
        ))}
      </dl>
      <Definitions
        of="figures"
        meanings={block.tiles.map(({ label, help }) => ({ term: label, help }))}
      />
    </div>
  );
}

function TileView({ tile }: { tile: Tile }) {
  const { digits, unit } = formatParts(tile.kind, tile.value);
  const { hrefOfLink } = useContext(LinksContext);
  const { label, section } = tile;
  const href = section && hrefOfLink({ label, section, search: "", from_ns: null, to_ns: null });
  return (
    <div class={`tile tone-${tile.tone}`} title={tile.help || undefined}>
      <dt>
        {tile.tone !== "plain" && <Icon name={iconOfTone(tile.tone)} size={13} />}
        {href ? <a href={href}>{label}</a> : label}
      </dt>
      <dd>
        <span class="figure">{digits}</span>
        {unit && <span class="unit"> {unit}</span>}
      </dd>
      {tile.share !== null && (
        <div class="meter" aria-hidden="true">
          <div style={{ width: `${100 * Math.min(Math.max(tile.share, 0), 1)}%` }} />
        </div>
      )}
    </div>
  );
}
