import type { Picture as PictureBlock } from "../document/types";
import { Prose } from "./Prose";

/** Width in pixels from which a drawing scrolls on a phone instead of shrinking. */
const WIDE = 700;

/** A drawing.  As an image nothing in it can run, whatever names it holds. */
export function Picture({ block }: { block: PictureBlock }) {
  const { width, height } = sizeOf(block.svg);
  return (
    <figure class="picture">
      <div class={width > WIDE ? "paper wide" : "paper"}>
        <img
          src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(block.svg)}`}
          alt={[block.title, block.caption].filter(Boolean).join(". ")}
          {...(width && height ? { width, height } : {})}
        />
      </div>
      {(block.title || block.caption) && (
        <figcaption>
          {block.title && <strong>{block.title}</strong>} <Prose text={block.caption} />
        </figcaption>
      )}
    </figure>
  );
}

/** Size of a drawing by its viewBox; zeros where it has none. */
export function sizeOf(svg: string): { width: number; height: number } {
  const viewBox = /<svg[^>]*\sviewBox\s*=\s*["']\s*([^"']+)["']/.exec(svg);
  const [, , width = 0, height = 0] = (viewBox?.[1] ?? "")
    .trim()
    .split(/[\s,]+/)
    .map(Number);
  return { width: Math.round(width) || 0, height: Math.round(height) || 0 };
}
