import type { Curves } from "../../document/types";
import { format } from "../../format/format";
import { placeWord } from "./axes";

/** What the curves show, in words for those who do not see them. */
export function describeCurves(block: Curves): string {
  if (!block.x.length) return `${block.title}: no points.`;
  const span = `from ${placeWord(block, 0)} to ${placeWord(block, block.x.length - 1)}`;
  const series = block.series.map(({ name, values }) => {
    const numbers = values.filter((value) => value !== null);
    if (!numbers.length) return `${name} has no values`;
    const max = numbers.reduce((highest, value) => Math.max(highest, value));
    const min = numbers.reduce((lowest, value) => Math.min(lowest, value));
    const at = placeWord(block, values.indexOf(max));
    return `${name} from ${format(block.kind, min)} to ${format(block.kind, max)}, most at ${at}`;
  });
  return `${block.title || "Curves"} ${span}: ${series.join("; ")}.`;
}
