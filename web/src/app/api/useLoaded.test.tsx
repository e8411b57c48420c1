// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";
import { ApiError, type Asking } from "../../api/client";
import { type App, AppProvider } from "../context";
import { Cache } from "./cache";
import { type Loaded, useLoaded, type Wanted } from "./useLoaded";

interface Asked {
  asking: Asking;
  answer(value: unknown): Promise<void>;
  fail(error: Error): Promise<void>;
}

let asked: Asked[];
let loaded: Loaded<string>;
let place: HTMLElement;
let cache: Cache;

beforeEach(() => {
  asked = [];
  cache = new Cache();
  place = document.createElement("div");
});

const client = {
  href: (path: string, params: object) => `${path} ${JSON.stringify(params)}`,
  json: (_path: string, _params: object, asking: Asking) =>
    new Promise((resolve, reject) => {
      asked.push({
        asking,
        answer: async (value) => act(async () => resolve(value)),
        fail: async (error) => act(async () => reject(error)),
      });
    }),
};

function Reader({ wanted }: { wanted: Wanted | null }) {
  loaded = useLoaded<string>(wanted);
  return null;
}

async function show(wanted: Wanted | null, contact = 0) {
  const app = { client, cache, contact } as unknown as App;
  await act(async () => {
    const reader = <Reader wanted={wanted} />;
    render(<AppProvider value={app}>{reader}</AppProvider>, place);
  });
}

const wanted = (page: string, version = "1"): Wanted => ({
  path: "document",
  params: { page },
  version,
});

test("an answer is asked for once, and again from the cache", async () => {
  await show(wanted("memory"));
  expect(loaded.loading).toBe(true);
  await asked[0]?.answer("curve");
  expect(loaded).toMatchObject({ value: "curve", loading: false });
  await show(wanted("kernels"));
  await show(wanted("memory"));
  expect(loaded.value).toBe("curve");
  expect(asked).toHaveLength(2);
});

test("nobody waits for the answer of a page that was left", async () => {
  await show(wanted("memory"));
  await show(wanted("kernels"));
  expect(asked[0]?.asking.signal?.aborted).toBe(true);
  await asked[0]?.answer("late");
  expect(loaded.value).toBeUndefined();
});

test("what is read stays while a newer version of it is on its way", async () => {
  await show(wanted("memory"));
  await asked[0]?.answer("old");
  await show(wanted("memory", "2"));
  expect(loaded).toMatchObject({ value: "old", loading: true });
  await asked[1]?.answer("new");
  expect(loaded).toMatchObject({ value: "new", loading: false });
});

test("a failure is told and can be tried again", async () => {
  await show(wanted("memory"));
  await asked[0]?.fail(new ApiError("No such span.", "", 404));
  expect(loaded.error?.message).toBe("No such span.");
  await act(async () => loaded.retry());
  await asked[1]?.answer("curve");
  expect(loaded).toMatchObject({ value: "curve", error: null });
});

test("a lost connection is tried again when the server is back, other failures are not", async () => {
  await show(wanted("memory"));
  await asked[0]?.fail(new ApiError("No such span.", "", 404));
  await show(wanted("memory"), 1);
  expect(asked).toHaveLength(1);
  await show(wanted("kernels"), 1);
  await asked[1]?.fail(new ApiError("The server does not answer.", "", 0));
  expect(asked).toHaveLength(2);
  await show(wanted("kernels"), 2);
  expect(asked).toHaveLength(3);
  await asked[2]?.answer("table");
  expect(loaded.value).toBe("table");
});
