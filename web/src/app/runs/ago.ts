const UNITS: [seconds: number, word: string][] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
];
const WEEK_S = 7 * 86_400;

/** Time since a moment, in words; from a week on its date. */
export function ago(moment_s: number, now_s: number): string {
  const past = now_s - moment_s;
  if (past >= WEEK_S) return new Date(moment_s * 1000).toISOString().slice(0, 10);
  for (const [seconds, word] of UNITS) {
    if (past >= seconds) return `${Math.floor(past / seconds)} ${word} ago`;
  }
  return "just now";
}
