import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../components/Icon";
import { format } from "../format/format";
import type { SearchResult } from "./types";
import type { Answer } from "./useAnswer";
import type { Search } from "./useSearch";

interface SearchBoxProps {
  q: string;
  onSearch(q: string): void;
  search: Search;
  box: RefObject<HTMLInputElement | null>;
}

/** Time given to further typing before a search begins. */
const PAUSE_MS = 180;

export function SearchBox({ q, onSearch, search, box }: SearchBoxProps) {
  const [text, setText] = useState(q);
  const sent = useRef(q);
  const send = (value: string) => {
    if (value === sent.current) return;
    sent.current = value;
    onSearch(value);
  };
  useEffect(() => {
    if (q !== sent.current) setText(q);
    sent.current = q;
  }, [q]);
  useEffect(() => {
    const timer = setTimeout(() => send(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const total = search.result.value?.total ?? 0;
  return (
    <div class="trace-search">
      <Icon name="search" />
      <input
        ref={box}
        type="search"
        class="input"
        placeholder="Search slices ( / )"
        aria-label="Search slices by name"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
          if (event.key !== "Enter") return;
          send(text);
          search.step(event.shiftKey ? -1 : 1, text !== q || search.result.loading);
        }}
      />
      {q && (
        <>
          <span class="quiet" role="status">
            {hitsText(search.result, search.hit)}
          </span>
          <button
            type="button"
            class="icon-button"
            aria-label="Previous match"
            disabled={!total}
            onClick={() => search.step(-1)}
          >
            <Icon name="up" />
          </button>
          <button
            type="button"
            class="icon-button"
            aria-label="Next match"
            disabled={!total}
            onClick={() => search.step(1)}
          >
            <Icon name="down" />
          </button>
        </>
      )}
    </div>
  );
}

function hitsText({ value, loading }: Answer<SearchResult>, hit: number): string {
  if (!value) return loading ? "searching" : "";
  if (!value.total) return "no matches";
  const total = format("count", value.total);
  return hit < 0 ? `${total} matches` : `${format("count", hit + 1)} of ${total}`;
}
