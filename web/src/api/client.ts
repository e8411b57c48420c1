// Requests to the server: polls while an answer is computed; errors are sentences.

import type { Params, Progress } from "./types";

const ASK_AGAIN_MS = 300;
/** The first polls follow sooner: the server itself waits before it answers 202. */
const FIRST_ASK_AGAIN_MS = 50;
const FIRST_TRIES = 4;
const BUSY_MS = 1000;
const BUSY_TRIES = 20;

/** An error and what to do about it, as sentences. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly hint: string,
    /** Status of the answer; 0 where there was none. */
    readonly status: number,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Called for each answer 202. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

export interface Client {
  json<T>(path: string, params?: Params, options?: RequestOptions): Promise<T>;
  binary(path: string, params?: Params, options?: RequestOptions): Promise<ArrayBuffer>;
  href(path: string, params?: Params): string;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;
type Wait = (ms: number, signal?: AbortSignal) => Promise<void>;

/** A client of the server whose addresses begin with `base`. */
export function createClient(
  base: URL,
  fetchUrl: Fetch = (url, init) => fetch(url, init),
  wait: Wait = delay,
): Client {
  const href = (path: string, params: Params = {}) => {
    const url = new URL(`api/${path}`, base);
    for (const [name, value] of Object.entries(params)) {
      if (value !== undefined && value !== "") url.searchParams.set(name, String(value));
    }
    return url.href;
  };

  async function answer(
    path: string,
    params?: Params,
    { signal, onProgress }: RequestOptions = {},
  ) {
    for (let busy = 0, waited = 0; ; ) {
      const response = await send(fetchUrl, href(path, params), signal);
      if (response.status === 202) {
        onProgress?.(await readJson<Progress>(response));
        waited += 1;
        await wait(waited <= FIRST_TRIES ? FIRST_ASK_AGAIN_MS : ASK_AGAIN_MS, signal);
      } else if (response.status === 503 && busy < BUSY_TRIES) {
        busy += 1;
        const { message } = await failure(response);
        onProgress?.({ doing: message, share: null, waited_s: busy });
        await wait(BUSY_MS, signal);
      } else if (response.ok) {
        return response;
      } else {
        throw await failure(response);
      }
    }
  }

  return {
    href,
    json: async <T>(path: string, params?: Params, options?: RequestOptions) =>
      readJson<T>(await answer(path, params, options)),
    binary: async (path, params, options) => (await answer(path, params, options)).arrayBuffer(),
  };
}

/** Whether an error comes from an aborted request. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Any error as an ApiError. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new ApiError("The page could not show this.", `Error: ${text}`, 0);
}

async function send(fetchUrl: Fetch, url: string, signal: AbortSignal | undefined) {
  try {
    return await fetchUrl(url, {
      ...(signal && { signal }),
      headers: { Accept: "application/json" },
    });
  } catch (error) {
    if (isAborted(error)) throw error;
    const hint = "Is timesink still running? The page retries automatically.";
    throw new ApiError("The server does not answer.", hint, 0);
  }
}

async function failure(response: Response): Promise<ApiError> {
  try {
    const { error, hint } = (await response.json()) as { error: string; hint?: string };
    return new ApiError(asSentence(error), asSentence(hint ?? ""), response.status);
  } catch {
    const text = `The server answered ${response.status} ${response.statusText}`.trim();
    return new ApiError(
      asSentence(text),
      "See the log of the server for details.",
      response.status,
    );
  }
}

async function readJson<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (isAborted(error)) throw error;
    const hint = "Reload the page: page and server may have different versions.";
    throw new ApiError("The server's answer cannot be read.", hint, response.status);
  }
}

/** A message of the server as a sentence: "no run is named x" -> "No run is named x." */
export function asSentence(words: string): string {
  const text = words.trim();
  if (!text) return "";
  const [first = ""] = text.split(/\s/, 1);
  // Paths, names and commands keep their spelling.
  const start = /^[a-z]+,?$/.test(first) && text[0] ? text[0].toUpperCase() + text.slice(1) : text;
  return /[.!?:]$/.test(start) ? start : `${start}.`;
}

function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new DOMException("request cancelled", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
  });
}
