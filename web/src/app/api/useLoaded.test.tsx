// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";
import { ApiError, type RequestOptions } from "../../api/client";
import { type App, AppProvider } from "../context";
import { Cache } from "./cache";
import { type Loaded, type LoadRequest, useLoaded } from "./useLoaded";

interface PendingRequest {
  options: RequestOptions;
  answer(value: unknown): Promise<void>;
  fail(error: Error): Promise<void>;
}

let pending: PendingRequest[];
let loaded: Loaded<string>;
let place: HTMLElement;
let cache: Cache;

beforeEach(() => {
  pending = [];
  cache = new Cache();
  place = document.createElement("div");
});

const client = {
  href: (path: string, params: object) => `${path} ${JSON.stringify(params)}`,
  json: (_path: string, _params: object, options: RequestOptions) =>
    new Promise((resolve, reject) => {
      pending.push({
        options,
        answer: async (value) => act(async () => resolve(value)),
        fail: async (error) => act(async () => reject(error)),
      });
    }),
};

function Reader({ wanted }: { wanted: LoadRequest | null }) {
  loaded = useLoaded<string>(wanted);
  return null;
}

async function show(wanted: LoadRequest | null, reconnections = 0) {
  const app = { client, cache, reconnections } as unknown as App;
  await act(async () => {
    const reader = <Reader wanted={wanted} />;
    render(<AppProvider value={app}>{reader}</AppProvider>, place);
  });
}

const request = (page: string, version = "1"): LoadRequest => ({
  path: "document",
  params: { page },
  version,
});

test("an answer is asked for once, and again from the cache", async () => {
  await show(request("memory"));
  expect(loaded.loading).toBe(true);
  await pending[0]?.answer("curve");
  expect(loaded).toMatchObject({ value: "curve", loading: false });
  await show(request("kernels"));
  await show(request("memory"));
  expect(loaded.value).toBe("curve");
  expect(pending).toHaveLength(2);
});

test("nobody waits for the answer of a page that was left", async () => {
  await show(request("memory"));
  await show(request("kernels"));
  expect(pending[0]?.options.signal?.aborted).toBe(true);
  await pending[0]?.answer("late");
  expect(loaded.value).toBeUndefined();
});

test("what is read stays while a newer version of it is on its way", async () => {
  await show(request("memory"));
  await pending[0]?.answer("old");
  await show(request("memory", "2"));
  expect(loaded).toMatchObject({ value: "old", loading: true });
  await pending[1]?.answer("new");
  expect(loaded).toMatchObject({ value: "new", loading: false });
});

test("a failure is told and can be tried again", async () => {
  await show(request("memory"));
  await pending[0]?.fail(new ApiError("No such span.", "", 404));
  expect(loaded.error?.message).toBe("No such span.");
  await act(async () => loaded.retry());
  await pending[1]?.answer("curve");
  expect(loaded).toMatchObject({ value: "curve", error: null });
});

test("a lost connection is tried again when the server is back, other failures are not", async () => {
  await show(request("memory"));
  await pending[0]?.fail(new ApiError("No such span.", "", 404));
  await show(request("memory"), 1);
  expect(pending).toHaveLength(1);
  await show(request("kernels"), 1);
  await pending[1]?.fail(new ApiError("The server does not answer.", "", 0));
  expect(pending).toHaveLength(2);
  await show(request("kernels"), 2);
  expect(pending).toHaveLength(3);
  await pending[2]?.answer("table");
  expect(loaded.value).toBe("table");
});
