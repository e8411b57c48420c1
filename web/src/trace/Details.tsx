import { format } from "../format/format";
import { ErrorNotice } from "./ErrorNotice";
import type { DrawnSlice } from "./hit";
import type { Place, SliceDetails } from "./types";
import type { Answer } from "./useAnswer";

interface DetailsProps {
  details: Answer<SliceDetails>;
  hrefOf(page: SliceDetails["links"][number]["page"], search: string): string;
  onJump(place: Place): void;
}

/** Prefix of a link by its page. */
const PAGES = { operators: "Operator", kernels: "Kernel", modules: "Module" };

/** Details of the selected slice. */
export function Details({ details, hrefOf, onJump }: DetailsProps) {
  if (details.error) return <ErrorNotice error={details.error} />;
  const slice = details.value;
  if (!slice) return <p class="quiet">Loading …</p>;
  return (
    <div class="trace-details">
      <div class="main">
        <h3>{slice.name}</h3>
        <p class="links">
          {slice.links.map(({ label, page, search }) => (
            <a key={page + search} href={hrefOf(page, search)} title={label}>
              {PAGES[page]} {label}
            </a>
          ))}
        </p>
        <dl class="facts">
          <Fact label="Duration" value={format("time_ns", slice.dur_ns)} />
          <Fact label="Self time" value={format("time_ns", slice.self_ns)} />
          <Fact label="Start" value={format("moment_ns", slice.from_ns)} />
          <Fact label="Kind" value={slice.kind} />
          {slice.facts.map(([label, value]) => (
            <Fact key={label} label={label} value={value} />
          ))}
        </dl>
      </div>
      <div class="beside">
        <Places
          title="Flows"
          rows={slice.flows.map(({ kind, direction, place }) => ({
            label: `${direction === "to" ? "→" : "←"} ${kind}`,
            place,
          }))}
          onJump={onJump}
        />
        <Places
          title="Enclosing slices, outermost first"
          rows={slice.around.map((place) => ({ label: "", place }))}
          onJump={onJump}
        />
      </div>
    </div>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  if (!value) return null;
  return (
    <div>
      <dt>{label.charAt(0).toUpperCase() + label.slice(1)}</dt>
      <dd>{value}</dd>
    </div>
  );
}

interface PlacesProps {
  title: string;
  rows: { label: string; place: Place }[];
  onJump(place: Place): void;
}

function Places({ title, rows, onJump }: PlacesProps) {
  if (!rows.length) return null;
  return (
    <>
      <h4>{title}</h4>
      <ol class="places">
        {rows.map(({ label, place }) => (
          <li key={`${label}${place.id}`}>
            {label && <span class="quiet">{label} </span>}
            <button type="button" class="jump" onClick={() => onJump(place)}>
              {place.name}
            </button>
            <span class="quiet"> {format("time_ns", place.dur_ns)}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

interface MergedProps {
  slice: DrawnSlice;
  name: string;
  onZoom(): void;
}

/** Slices merged at this zoom. */
export function Merged({ slice, name, onZoom }: MergedProps) {
  return (
    <div class="trace-details">
      <div class="main">
        <h3>{format("count", slice.count)} slices, too short to draw one by one</h3>
        <p>
          They take {format("time_ns", slice.busy_ns)} of {format("time_ns", slice.dur_ns)}. Most of
          it is <strong>{name}</strong>.
        </p>
        <button type="button" class="button" onClick={onZoom}>
          Zoom in (F)
        </button>
      </div>
    </div>
  );
}
