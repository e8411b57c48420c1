import { format } from "../format/format";
import { type Item, type Layout, trackKey } from "./layout";
import type { Track } from "./types";

interface NamesProps {
  layout: Layout;
  /** Opens or closes a group or a track, by its key. */
  onToggle(key: string): void;
}

/** Names of groups and tracks, beside their rows. */
export function Names({ layout, onToggle }: NamesProps) {
  return (
    <div class="trace-names">
      {layout.items.map((item) => (
        <Name key={keyOf(item)} item={item} onToggle={() => onToggle(keyOf(item))} />
      ))}
    </div>
  );
}

function keyOf(item: Item): string {
  return item.type === "group" ? item.name : trackKey(item.track.id);
}

function Name({ item, onToggle }: { item: Item; onToggle(): void }) {
  const place = { top: `${item.y}px`, height: `${item.height}px` };
  if (item.type === "group") {
    return (
      <button
        type="button"
        class="trace-name group"
        style={place}
        aria-expanded={item.open}
        title={`${item.name}: ${item.tracks} tracks`}
        onClick={onToggle}
      >
        <span class="turn" aria-hidden="true" />
        <span class="text">{item.name}</span>
      </button>
    );
  }
  const { track } = item;
  if (item.rows === 1 && item.open && track.rows <= 1) {
    return (
      <div class="trace-name" style={place} title={told(track)}>
        <span class="text">{track.name}</span>
      </div>
    );
  }
  return (
    <button
      type="button"
      class="trace-name"
      style={place}
      aria-expanded={item.open}
      title={told(track)}
      onClick={onToggle}
    >
      <span class="turn" aria-hidden="true" />
      <span class="text">{track.name}</span>
    </button>
  );
}

function told({ name, group, events, rows, unit, kind, lowest, highest }: Track): string {
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
  const digits = format("number", Number(value.toPrecision(4)));
  return unit ? `${digits} ${unit}` : digits;
}
