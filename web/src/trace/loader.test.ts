import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { TraceApi, Window } from "./api";
import { slicesOf } from "./example";
import { Loader } from "./loader";
import { Names } from "./names";
import type { Track } from "./types";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const LENGTH = 1_000_000;
const track = {
  id: 1,
  kind: "host",
  group: "g",
  name: "t",
  rows: 1,
  events: 1,
  unit: "",
  lowest: 0,
  highest: 0,
} as Track;

function createLoader(slices: TraceApi["slices"]) {
  const events = { loading: [] as boolean[], errors: [] as (Error | null)[] };
  const loader = new Loader({ slices } as TraceApi, LENGTH, new Names(), {
    onData: () => {},
    onLoading: (now) => events.loading.push(now),
    onError: (error) => events.errors.push(error),
  });
  return { loader, told: events };
}

function answer() {
  const head = { slices: 0, names: {}, arrays: [], resolution_ns: 1 };
  return { head, slices: slicesOf([]) };
}

it("asks for what is in view first, then for what lies to both sides", async () => {
  const windows: Window[] = [];
  const { loader } = createLoader(async (window) => {
    windows.push(window);
    return answer();
  });
  loader.show({ from: 100_000, to: 101_024, width: 1024 }, [track]);
  await vi.runAllTimersAsync();
  expect(windows[0]!.from).toBeLessThanOrEqual(100_000);
  expect(windows[0]!.to).toBeGreaterThanOrEqual(101_024);
  expect(Math.min(...windows.map(({ from }) => from))).toBeLessThanOrEqual(100_000 - 1024);
  expect(Math.max(...windows.map(({ to }) => to))).toBeGreaterThanOrEqual(101_024 + 1024);
});

it("asks nothing that is there already", async () => {
  const slices = vi.fn(async () => answer());
  const { loader } = createLoader(slices);
  const view = { from: 100_000, to: 101_024, width: 1024 };
  loader.show(view, [track]);
  await vi.runAllTimersAsync();
  const before = slices.mock.calls.length;
  loader.show({ ...view, from: 100_200, to: 101_224 }, [track]);
  await vi.runAllTimersAsync();
  expect(slices.mock.calls.length).toBe(before);
});

it("breaks off what nobody looks at any more", async () => {
  const signals: AbortSignal[] = [];
  const { loader } = createLoader((_, call) => {
    signals.push(call!.signal!);
    return new Promise(() => {});
  });
  loader.show({ from: 0, to: 1024, width: 1024 }, [track]);
  await vi.advanceTimersByTimeAsync(50);
  loader.show({ from: 500_000, to: 501_024, width: 1024 }, [track]);
  await vi.advanceTimersByTimeAsync(50);
  expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
});

it("tells a failure once and waits for the next movement", async () => {
  const slices = vi.fn(async () => {
    throw new Error("The server does not answer.");
  });
  const { loader, told: events } = createLoader(slices);
  loader.show({ from: 0, to: 1024, width: 1024 }, [track]);
  await vi.runAllTimersAsync();
  expect(slices).toHaveBeenCalledTimes(1);
  expect(events.errors.map((error) => error?.message)).toEqual(["The server does not answer."]);
  expect(events.loading.at(-1)).toBe(false);
});

it("asks for what is drawn over slices only while it is", async () => {
  const overlay = vi.fn(async () => answer());
  const slices = vi.fn(async () => answer());
  const loader = new Loader({ slices, overlay } as unknown as TraceApi, LENGTH, new Names(), {
    onData: () => {},
    onLoading: () => {},
    onError: (error) => expect(error).toBeNull(),
  });
  const view = { from: 0, to: LENGTH, width: 1024 };
  loader.show(view, [track]);
  await vi.runAllTimersAsync();
  expect(slices).toHaveBeenCalled();
  expect(overlay).not.toHaveBeenCalled();
  loader.overlays = ["path"];
  loader.show(view, [track]);
  await vi.runAllTimersAsync();
  expect(overlay.mock.calls.map(([of]: unknown[]) => of)).toContain("path");
  expect(loader.path.pieces(track.id, 10, view)).not.toEqual([]);
});
