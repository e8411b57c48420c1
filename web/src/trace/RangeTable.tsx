import { useMemo } from "preact/hooks";
import { type Links, LinksContext, NO_LINKS } from "../components/links";
import { Table } from "../components/Table";
import type { Range, TraceApi } from "./api";
import { ErrorNotice, ProgressNotice } from "./ErrorNotice";
import type { TraceViewProps } from "./TraceView";
import { useAnswer } from "./useAnswer";

interface RangeTableProps {
  api: TraceApi;
  range: Range;
  /** Which tracks count; none for all. */
  tracks: readonly number[];
  hrefOf: TraceViewProps["hrefOf"];
}

/** What took the time within a range. */
export function RangeTable({ api, range, tracks, hrefOf }: RangeTableProps) {
  const ask = (call: object) => api.aggregate(range, tracks, call);
  const { value, error, progress } = useAnswer(ask, [api, range.join(), tracks.join()], 30);
  const links = useMemo((): Links => {
    const pages = { operator: "operators", kernel: "kernels", module: "modules" } as const;
    return {
      ...NO_LINKS,
      hrefOfCell: (link, text) =>
        link in pages ? hrefOf(pages[link as keyof typeof pages], text) : null,
    };
  }, [hrefOf]);
  if (error) return <ErrorNotice error={error} />;
  if (!value) return <ProgressNotice progress={progress} />;
  return (
    <LinksContext.Provider value={links}>
      <Table block={value} />
    </LinksContext.Provider>
  );
}
