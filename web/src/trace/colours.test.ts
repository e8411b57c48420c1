import { describe, expect, it } from "vitest";
import { COLOURS, colourOf, contrast, DIM, familyOf, palette } from "./colours";

describe.each([
  ["light", false],
  ["dark", true],
])("the %s palette", (_, dark) => {
  const { fills, text } = palette(dark);
  it("has a colour for every number", () => {
    expect(fills).toHaveLength(COLOURS);
    for (const fill of fills) expect(fill).toMatch(/^#[0-9a-f]{6}$/);
  });
  it("can be read on", () => {
    for (const fill of fills.slice(0, DIM)) {
      expect(contrast(fill, text), fill).toBeGreaterThanOrEqual(4.5);
    }
  });
});

it("contrast is that of WCAG", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
  expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 1);
});

describe("the colour of a name", () => {
  it("is the same for numbered names", () => {
    expect(colourOf("host", "ProfilerStep#3")).toBe(colourOf("host", "ProfilerStep#12"));
  });
  it("tells names apart", () => {
    const names = ["aten::mm", "aten::add", "aten::linear", "aten::conv2d", "cudaLaunchKernel"];
    expect(new Set(names.map((name) => colourOf("host", name))).size).toBeGreaterThan(2);
  });
  it.each([
    ["sm90_xmma_gemm_bf16", "matmul"],
    ["ncclDevKernel_AllReduce_Sum", "communication"],
    ["Memcpy HtoD (Pinned -> Device)", "copy"],
    ["void flash_fwd_kernel<64>", "attention"],
    ["vectorized_elementwise_kernel", "elementwise"],
    ["reduce_kernel<512>", "reduction"],
    ["sm80_xmma_fprop_implicit_gemm", "convolution"],
    ["my_kernel", "device"],
  ])("%s on a device is %s", (name, family) => {
    expect(familyOf("device", name)).toBe(family);
  });
});
