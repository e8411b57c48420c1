import { afterEach, describe, expect, it, vi } from "vitest";
import { fetchTraceApi, type Progress } from "./api";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A server that gives these answers, one after the other. */
function answering(...answers: [status: number, body: unknown][]) {
  const asked: URL[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(new URL(url));
    const [status, body] = answers[Math.min(asked.length, answers.length) - 1]!;
    return new Response(JSON.stringify(body), { status });
  });
  return asked;
}

const api = () => fetchTraceApi("http://here/data/plugin/timesink/", { run: "a b", worker: "w0" });

describe("asking the server", () => {
  it("names run, worker and window beneath the base", async () => {
    const asked = answering([200, { tracks: [] }]);
    await api().counters({ from: 10.4, to: 20.2, pixels: 5, tracks: [1, 2] });
    expect(asked[0]?.pathname).toBe("/data/plugin/timesink/api/timeline/counters");
    expect(Object.fromEntries(asked[0]!.searchParams)).toEqual({
      run: "a b",
      worker: "w0",
      from: "10",
      to: "21",
      pixels: "5",
      tracks: "1,2",
    });
  });
  it("leaves out tracks where all are meant", async () => {
    const asked = answering([200, { total: 0, from: [], to: [] }]);
    await api().flows([0, 5], []);
    expect(asked[0]?.searchParams.has("tracks")).toBe(false);
  });
  it("asks again while the server works, and tells what it does", async () => {
    vi.useFakeTimers();
    const working = { doing: "reading trace.json.gz", share: 0.4, waited_s: 1 };
    answering([202, working], [503, { error: "busy" }], [200, { tracks: [] }]);
    const told: Progress[] = [];
    const answer = api().tracks({ onProgress: (progress) => told.push(progress) });
    await vi.runAllTimersAsync();
    expect(await answer).toEqual({ tracks: [] });
    expect(told).toEqual([working]);
  });
  it("fails with the sentence and hint of the server", async () => {
    answering([404, { error: "There is no run x.", hint: "Choose another." }]);
    await expect(api().tracks()).rejects.toMatchObject({
      message: "There is no run x.",
      hint: "Choose another.",
    });
  });
});
