import type { Curves } from "../../document/types";
import { format } from "../../format/format";

/** What the curves show, in words for those who do not see them. */
export function curvesTold(block: Curves): string {
  const [first, last] = [block.x[0], block.x.at(-1)];
  if (first === undefined || last === undefined) return `${block.title}: no points.`;
  const span = `from ${format("moment_ns", first)} to ${format("moment_ns", last)}`;
  const series = block.series.map(({ name, values }) => {
    const numbers = values.filter((value) => value !== null);
    if (!numbers.length) return `${name} has no values`;
    const most = numbers.reduce((highest, value) => Math.max(highest, value));
    const least = numbers.reduce((lowest, value) => Math.min(lowest, value));
    const at = format("moment_ns", block.x[values.indexOf(most)]);
    return `${name} from ${format(block.kind, least)} to ${format(block.kind, most)}, most at ${at}`;
  });
  return `${block.title || "Curves"} ${span}: ${series.join("; ")}.`;
}
