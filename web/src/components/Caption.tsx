import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** Titles just above a block, which its caption does not repeat. */
export const TitlesAbove = createContext<string[]>([]);

/** The title of a block. */
export function Caption({ title }: { title: string }) {
  const above = useContext(TitlesAbove);
  if (!title) return null;
  return <figcaption class={above.includes(title) ? "visually-hidden" : ""}>{title}</figcaption>;
}
