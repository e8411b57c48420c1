/** Text in which backticks mark code; no other markup. */
export function Prose({ text }: { text: string }) {
  const pieces = text.split("`");
  // Without a partner the last backtick is one of the text.
  if (pieces.length % 2 === 0) return <>{text}</>;
  return <>{pieces.map((piece, at) => (at % 2 ? <code key={at}>{piece}</code> : piece))}</>;
}
