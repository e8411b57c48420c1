/** Answers by address and run version; least recently used entries are evicted. */
export class Cache {
  readonly #answers = new Map<string, unknown>();

  constructor(readonly size = 40) {}

  get<T>(key: string): T | undefined {
    const answer = this.#answers.get(key);
    if (answer === undefined) return undefined;
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    return answer as T;
  }

  set(key: string, answer: unknown): void {
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= this.size) break;
      this.#answers.delete(oldest);
    }
  }
}
