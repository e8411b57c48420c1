import { format } from "../format/format";
import { Trouble } from "./Trouble";
import type { Found } from "./types";
import type { Answered } from "./useAnswer";

interface FoundNamesProps {
  found: Answered<Found>;
  q: string;
  onSearch(q: string): void;
}

/** Names that a search found, the most time first. */
export function FoundNames({ found, q, onSearch }: FoundNamesProps) {
  if (found.error) return <Trouble error={found.error} />;
  if (!found.value) return <p class="told">Searching …</p>;
  if (!found.value.total) return <p class="told">No slice has “{q}” in its name.</p>;
  const { hits, total, names } = found.value;
  return (
    <div class="trace-found">
      {hits.length < total && (
        <p class="told">
          Enter goes through the first {format("count", hits.length)} of {format("count", total)}.
        </p>
      )}
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th class="number">Slices</th>
            <th class="number">Total</th>
          </tr>
        </thead>
        <tbody>
          {names.map(({ name, count, total_ns }) => (
            <tr key={name}>
              <td>
                <button type="button" class="jump" onClick={() => onSearch(name)}>
                  {name}
                </button>
              </td>
              <td class="number">{format("count", count)}</td>
              <td class="number">{format("time_ns", total_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
