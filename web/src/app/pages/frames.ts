/** One call of a call stack. */
export interface Frame {
  /** The function, or the raw text of an unknown format. */
  name: string;
  /** `folder/file.py:12`, short; "" where unknown. */
  place: string;
  /** As recorded. */
  raw: string;
}

const FRAME = /^(.*)\((\d+)\): (.*)$/;

/** The calls of a stack: one per line, or between semicolons; the innermost first. */
export function framesOf(stack: string | number | null): Frame[] {
  const lines = String(stack ?? "").split(/[;\n]/);
  return lines
    .map((line) => line.trim())
    .filter(Boolean)
    .map(frameOf);
}

function frameOf(text: string): Frame {
  const [, file, line, name] = FRAME.exec(text) ?? [];
  if (!file || !name) return { name: text, place: "", raw: text };
  const short = file.split("/").slice(-2).join("/");
  return { name, place: `${short}:${line}`, raw: text };
}
