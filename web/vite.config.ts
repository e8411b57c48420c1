import { defineConfig } from "vite";

// Two bundles from one source: `report` is inlined into one HTML file, `app` is served.  Names carry
// no hash, so that what is in the wheel can be compared with what the source gives.
const STATIC = process.env.TIMESINK_STATIC ?? "../src/timesink/output/static";

const ENTRIES = {
  report: { entry: "src/report/main.tsx", format: "iife" as const },
  app: { entry: "src/app/main.tsx", format: "es" as const },
};

export default defineConfig(({ mode }) => {
  const chosen = ENTRIES[mode as keyof typeof ENTRIES] ?? ENTRIES.app;
  return {
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    build: {
      target: "es2022",
      outDir: STATIC,
      emptyOutDir: false,
      assetsInlineLimit: 1_000_000,
      cssCodeSplit: false,
      // Vite keeps the white space of modules for other bundlers; ours goes to browsers.
      rolldownOptions: { output: { minify: true } },
      lib: {
        entry: chosen.entry,
        formats: [chosen.format],
        name: "timesink",
        fileName: () => `${mode}.js`,
        cssFileName: mode,
      },
    },
    test: { environment: "node", isolate: false, include: ["src/**/*.test.{ts,tsx}"] },
  };
});
