/** The first sentence (with the next where it is only a word or two) and the rest. */
export function firstSentence(text: string, min = 30): [first: string, rest: string] {
  for (const boundary of text.matchAll(/[.!?] (?=[A-Z0-9"`])/g)) {
    const end = boundary.index + 1;
    if (end >= min) return [text.slice(0, end), text.slice(end + 1)];
  }
  return [text, ""];
}
