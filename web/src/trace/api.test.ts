import { describe, expect, it } from "vitest";
import { createClient } from "../api/client";
import { fetchTraceApi } from "./api";

/** The routes of a server that gives this answer to everything, and what it was asked. */
function apiOf(answer: unknown) {
  const urls: URL[] = [];
  const client = createClient(new URL("http://here/data/plugin/timesink/"), async (url) => {
    urls.push(new URL(url));
    return new Response(JSON.stringify(answer));
  });
  return { asked: urls, api: fetchTraceApi(client, { run: "a b", worker: "w0" }) };
}

describe("asking the server", () => {
  it("names run, worker and window beneath the base", async () => {
    const { asked: urls, api } = apiOf({ tracks: [] });
    await api.counters({ from: 10.4, to: 20.2, pixels: 5, tracks: [1, 2] });
    expect(urls[0]?.pathname).toBe("/data/plugin/timesink/api/timeline/counters");
    expect(Object.fromEntries(urls[0]!.searchParams)).toEqual({
      run: "a b",
      worker: "w0",
      from: "10",
      to: "21",
      pixels: "5",
      tracks: "1,2",
    });
  });
  it("asks for everything from the very start", async () => {
    const { asked: urls, api } = apiOf({ total: 0, from: [], to: [] });
    await api.flows([0, 5], []);
    expect(urls[0]?.searchParams.get("from")).toBe("0");
    expect(urls[0]?.searchParams.has("tracks")).toBe(false);
  });
  it("asks about the clock that is shown, and for what is drawn over it", async () => {
    const urls: URL[] = [];
    const client = createClient(new URL("http://here/"), async (url) => {
      urls.push(new URL(url));
      return new Response("{}");
    });
    const api = fetchTraceApi(client, { run: "a", clock: "own" });
    await api.clock();
    await api.path([1, 2]);
    await api.overlay("recording", { from: 0, to: 9, pixels: 5, tracks: [1] }).catch(() => null);
    expect(urls.map(({ pathname }) => pathname)).toEqual([
      "/api/timeline/clock",
      "/api/timeline/path",
      "/api/timeline/overlay",
    ]);
    expect(urls.map(({ searchParams }) => searchParams.get("clock"))).toEqual([
      "own",
      "own",
      "own",
    ]);
    expect(urls[2]?.searchParams.get("of")).toBe("recording");
  });
  it("knows where a file of a range is", () => {
    const { api } = apiOf(null);
    expect(new URL(api.exportUrl([1.5, 9])).search).toBe("?run=a+b&worker=w0&from=1&to=9");
  });
});
