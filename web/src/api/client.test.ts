import { describe, expect, test } from "vitest";
import { type ApiError, asSentence, createClient } from "./client";
import type { Progress } from "./types";

const BASE = new URL("http://server/prefix/");
const ready = (value: unknown) => Response.json(value);
const progressResponse = (doing: string, share: number | null = null) =>
  Response.json({ doing, share, waited_s: 1 }, { status: 202 });
const errorResponse = (status: number, error: string, hint = "") =>
  Response.json({ error, hint }, { status });

/** A client whose server gives these answers one after the other. */
function clientOf(...answers: (Response | Error)[]) {
  const urls: string[] = [];
  const waits: number[] = [];
  const client = createClient(
    BASE,
    async (url) => {
      urls.push(url);
      const answer = answers[urls.length - 1];
      if (!answer) throw new Error("asked too often");
      if (answer instanceof Error) throw answer;
      return answer;
    },
    async (ms, signal) => {
      waits.push(ms);
      signal?.throwIfAborted();
    },
  );
  return { client, asked: urls, waits };
}

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable("no error"),
    (error: unknown) => error as ApiError,
  );

test("addresses lie below the base, without what is not given", () => {
  const { client } = clientOf();
  expect(
    client.href("document", { run: "a/b c", worker: "", page: "memory", steps: undefined }),
  ).toBe("http://server/prefix/api/document?run=a%2Fb+c&page=memory");
});

describe("an answer that takes longer", () => {
  test("is asked for again at the same address until it is there", async () => {
    const { client, asked: urls } = clientOf(
      progressResponse("reading"),
      progressResponse("reading"),
      ready({ rows: 3 }),
    );
    expect(await client.json("table", { run: "a" })).toEqual({ rows: 3 });
    expect(new Set(urls).size).toBe(1);
    expect(urls).toHaveLength(3);
  });

  test("is asked for soon at first, and then less often", async () => {
    const answers = Array.from({ length: 6 }, () => progressResponse("reading"));
    const { client, waits } = clientOf(...answers, ready({}));
    await client.json("document");
    expect(waits).toEqual([50, 50, 50, 50, 300, 300]);
  });

  test("tells how far it is", async () => {
    const reports: Progress[] = [];
    const { client } = clientOf(
      progressResponse("reading", 0.4),
      progressResponse("thinking"),
      ready({}),
    );
    await client.json("document", {}, { onProgress: (progress) => reports.push(progress) });
    expect(reports.map(({ doing, share }) => [doing, share])).toEqual([
      ["reading", 0.4],
      ["thinking", null],
    ]);
  });

  test("is not asked for again once nobody waits", async () => {
    const { client, asked: urls } = clientOf(progressResponse("reading"), ready({}));
    const stop = new AbortController();
    const options = { signal: stop.signal, onProgress: () => stop.abort() };
    expect((await errorOf(client.json("document", {}, options))).name).toBe("AbortError");
    expect(urls).toHaveLength(1);
  });

  test("waits longer for a server that has too much to do", async () => {
    const { client, waits } = clientOf(errorResponse(503, "too much at once"), ready({}));
    await client.json("document");
    expect(waits).toEqual([1000]);
  });
});

describe("what goes wrong", () => {
  test("is told in the server's words, as sentences", async () => {
    const { client } = clientOf(errorResponse(404, "no run is named 'x'", "it has a, b"));
    expect(await errorOf(client.json("document"))).toMatchObject({
      message: "No run is named 'x'.",
      hint: "It has a, b.",
      status: 404,
    });
  });

  test("is a sentence as well where the answer is no JSON", async () => {
    const gateway = new Response("<h1>Bad gateway</h1>", {
      status: 502,
      statusText: "Bad Gateway",
    });
    const error = await errorOf(clientOf(gateway).client.json("document"));
    expect(error.message).toBe("The server answered 502 Bad Gateway.");
  });

  test("is said to be the connection where there is none", async () => {
    const { client } = clientOf(new TypeError("Failed to fetch"));
    const error = await errorOf(client.json("runs"));
    expect(error).toMatchObject({ message: "The server does not answer.", status: 0 });
  });
});

test("bytes come as they are", async () => {
  const { client } = clientOf(progressResponse("reading"), new Response(new Uint8Array([1, 2, 3])));
  expect(new Uint8Array(await client.binary("timeline/slices"))).toEqual(new Uint8Array([1, 2, 3]));
});

test.each([
  ["no such route", "No such route."],
  ["worker0: no such span", "worker0: no such span."],
  ["/tmp/x cannot be read", "/tmp/x cannot be read."],
  ["", ""],
])("words become a sentence: %j", (words, sentence) => {
  expect(asSentence(words)).toBe(sentence);
});
