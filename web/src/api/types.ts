/** Progress of an answer that takes longer (status 202). */
export interface Progress {
  doing: string;
  share: number | null;
  waited_s: number;
}

export type Params = Readonly<Record<string, string | number | undefined>>;
