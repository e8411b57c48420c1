import { Fragment } from "preact";
import { format } from "../format/format";
import {
  type Item,
  isCurve,
  type Layout,
  ROW,
  type TrackItem,
  trackKey,
  visibleItems,
} from "./layout";
import type { Track } from "./types";

interface NamesProps {
  layout: Layout;
  /** The stretch that is in sight: there are no names elsewhere. */
  top: number;
  height: number;
  /** Opens or closes a group or a track, by its key. */
  onToggle(key: string): void;
  /** Shows all rows of a deep track, or only its first ones again. */
  onUnfold(track: number): void;
}

/** Names beyond the edges, so that scrolling does not uncover nothing. */
const OVERSCAN = 400;

/** Names of groups and tracks, beside their rows. */
export function Names({ layout, top, height, onToggle, onUnfold }: NamesProps) {
  const items = visibleItems(layout, top - OVERSCAN, top + height + OVERSCAN);
  return (
    <div class="trace-names">
      {items.map((item) => (
        <Fragment key={keyOf(item)}>
          <Name item={item} onToggle={() => onToggle(keyOf(item))} />
          {item.type === "track" && item.unfolded !== null && (
            <Handle item={item} onClick={() => onUnfold(item.track.id)} />
          )}
        </Fragment>
      ))}
    </div>
  );
}

/** Below the rows of a deep track: shows the others, or hides them again. */
function Handle({ item, onClick }: { item: TrackItem; onClick(): void }) {
  const place = { top: `${item.y + item.rows * ROW}px`, height: `${ROW}px` };
  const { rows } = item.track;
  return (
    <button
      type="button"
      class="trace-name handle"
      style={place}
      aria-expanded={item.unfolded === true}
      aria-label={`${item.unfolded ? "Fewer" : "All"} rows of ${item.track.name}`}
      onClick={onClick}
    >
      <span class="text">{item.unfolded ? "fewer rows" : `${rows - item.rows} more rows`}</span>
    </button>
  );
}

function keyOf(item: Item): string {
  return item.type === "group" ? item.name : trackKey(item.track.id);
}

function Name({ item, onToggle }: { item: Item; onToggle(): void }) {
  const place = { top: `${item.y}px`, height: `${item.height}px` };
  const group = item.type === "group";
  const [name, title] = group
    ? [item.name, `${item.name}: ${item.tracks} tracks`]
    : [item.track.name, trackTitle(item.track)];
  if (!group && item.track.rows <= 1 && (item.open || !isCurve(item.track))) {
    return (
      <div class="trace-name" style={place} title={title}>
        <span class="text">{name}</span>
      </div>
    );
  }
  return (
    <button
      type="button"
      class={group ? "trace-name group" : "trace-name"}
      style={place}
      aria-expanded={item.open}
      title={title}
      onClick={onToggle}
    >
      <span class="turn" aria-hidden="true" />
      <span class="text">{name}</span>
    </button>
  );
}

function trackTitle({ name, group, events, rows, unit, kind, lowest, highest }: Track): string {
  const where = `${name}, ${group}`;
  if (kind === "counter" || kind === "memory") {
    const [low, high] = [lowest, highest].map((value) => valueText(value, unit));
    return `${where}: ${low} to ${high}`;
  }
  return `${where}: ${format("count", events)} slices${rows > 1 ? ` in ${rows} rows` : ""}`;
}

/** A value of a counter with its unit; bytes as people read them. */
export function valueText(value: number, unit: string): string {
  if (unit === "B" || unit === "bytes") return format("bytes", value);
  if (unit === "B/s") return format("bytes_per_s", value);
  const rounded = format("number", Number(value.toPrecision(4)));
  const digits = rounded.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  return unit ? `${digits} ${unit}` : digits;
}
