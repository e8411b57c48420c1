import { format } from "../format/format";
import { ErrorNotice } from "./ErrorNotice";
import type { SearchResult } from "./types";
import type { Answer } from "./useAnswer";

interface SearchResultsProps {
  result: Answer<SearchResult>;
  q: string;
  onSearch(q: string): void;
}

/** Names that a search found, the most time first. */
export function SearchResults({ result, q, onSearch }: SearchResultsProps) {
  if (result.error) return <ErrorNotice error={result.error} />;
  if (!result.value) return <p class="quiet">Searching …</p>;
  if (!result.value.total) return <p class="quiet">No slice name contains “{q}”.</p>;
  const { hits, total, names } = result.value;
  return (
    <div class="trace-results">
      {hits.length < total && (
        <p class="quiet">
          Enter steps through the first {format("count", hits.length)} of {format("count", total)}.
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
