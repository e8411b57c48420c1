"""Matrix products far below their roof, for a reason that their shape gives."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import polars as pl

from timesink.analyses.columns import device_names
from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.steps import MATRIX, MEMORY
from timesink.model import units
from timesink.patterns import regex
from timesink.rules.efficiency import RoofedSteps, ShorterWork, arguments_of
from timesink.rules.thresholds import ProductShapesLimits

_TILE = regex(r"(?:_|tilesize|MT)(\d{2,3})x(\d{2,3})(?=[_x])")
_SHARED_TILES = regex(r"(?i:split_?k|stream_?k)|_SK[1-9]|_GSU(?:[2-9]|1\d)")


class Product(msgspec.Struct, frozen=True):
    """`a` (M x K) times `b` (K x N), so many at once."""

    batch: int
    m: int
    n: int
    k: int
    a: Tensor
    b: Tensor

    @property
    def is_skinny(self) -> bool:
        return min(self.m, self.n) < ProductShapesLimits.few_rows

    @property
    def weights(self) -> Tensor:
        """The larger one, of a product of a few rows."""
        return self.b if self.m <= self.n else self.a

    @property
    def multiple(self) -> int:
        """Of how many elements dimensions have to be multiples: those of 16 bytes."""
        size = max(self.a.element_bytes, self.b.element_bytes)
        return int(ProductShapesLimits.aligned_bytes / size) if size else 1

    @property
    def odd_sizes(self) -> tuple[int, ...]:
        """Lengths of rows in memory that are no such multiple.

        >>> a, b = Tensor((64, 768), "c10::Half"), Tensor((768, 30522), "c10::Half")
        >>> Product(1, 64, 30522, 768, a, b).odd_sizes
        (30522,)
        """
        lengths = {self.n, *_row_length(self.a), *_row_length(self.b)}
        return tuple(sorted(length for length in lengths if length > 1 and length % self.multiple))


def product_of(call: CallArguments) -> Product | None:
    """The product that a call makes; None where it is none, or one of another sort.

    >>> from timesink.analyses.work.arguments import parse_inputs
    >>> inputs = parse_inputs("[[64, 32], [32, 16]]", '["float", "float"]')
    >>> one = product_of(CallArguments("aten::mm", inputs, places={"a": 0, "b": 1}))
    >>> (one.m, one.n, one.k)
    (64, 16, 32)
    """
    a, b = call.tensor("a"), call.tensor("b")
    if a is None or b is None or min(len(a.shape), len(b.shape)) < 2:
        return None
    if a.shape[-1] != b.shape[-2] or not (a.elements and b.elements):
        return None
    batch = math.prod(a.shape[:-2])
    return Product(batch, a.shape[-2], b.shape[-1], a.shape[-1], a, b)


def _row_length(tensor: Tensor) -> tuple[int, ...]:
    """From one row of a matrix to the next in memory; nothing where strides do not tell."""
    if len(tensor.strides) != len(tensor.shape):
        return ()
    (rows, columns), (down, across) = tensor.shape[-2:], tensor.strides[-2:]
    if across == 1 and rows > 1:
        return (down,)
    return (across,) if down == 1 and columns > 1 else ()


def _chosen(
    run: RoofedSteps, kernels: pl.DataFrame, test: Callable[[int, Product], bool]
) -> tuple[pl.DataFrame, dict[int, Product]]:
    """Kernels of the products that pass a test, and these by the number of their set."""
    products = {}
    for number in kernels["set"].unique(maintain_order=True).to_list():
        product = product_of(arguments_of(run, number))
        if product is not None and test(number, product):
            products[number] = product
    return kernels.filter(pl.col("set").is_in(list(products))), products


def _far(run: RoofedSteps) -> pl.DataFrame:
    """Kernels of products that are far below their roof, all of a shape together."""
    mine = run.kernels.filter(pl.col("family") == "gemm", pl.col("roof_ns").is_not_null())
    reached = pl.col("roof_ns").sum().over("set") / pl.col("dur_ns").sum().over("set")
    return mine.filter(reached < ProductShapesLimits.far)


def odd_dimensions(run: RoofedSteps) -> list[ShorterWork]:
    """Products with rows that matrix units cannot load at once."""
    on_units = _far(run).filter(pl.col("peak").fill_null("").str.ends_with("_tensor"))
    mine, products = _chosen(
        run, on_units, lambda _, product: bool(product.odd_sizes) and not product.is_skinny
    )
    lost = float(mine["lost_ns"].sum())
    if mine.is_empty() or not run.worth_telling(lost):
        return []
    by_set = dict(mine.group_by("set").agg(pl.col("lost_ns").sum()).iter_rows())
    costly = sorted(products, key=lambda number: -by_set[number])
    sizes = dict.fromkeys(size for number in costly for size in products[number].odd_sizes)
    multiple = products[costly[0]].multiple
    padded = [f"{size} to {_pad_size(size, multiple)}" for size in sizes]
    time, roof = float(mine["dur_ns"].sum()), float(mine["roof_ns"].sum())
    size_text = units.join_names([str(size) for size in sizes], 3)
    return [
        run.shorter_work(
            "odd-dimensions",
            f"{run.many(_calls(mine), 'matrix products')} with dimensions that are no multiple of "
            f"{multiple} ({size_text}) {_take(run, mine)} {run.steps.part(time / run.divisor)}, at "
            f"{units.share(roof, time)} of their roofline. Good kernels would take "
            f"{units.brief_ns((time - lost) / run.divisor)}.",
            mine,
            run.evidence(mine),
            {"padded": units.join_names(padded, 3)},
        )
    ]


def _pad_size(size: int, multiple: int) -> int:
    """The next round size, or where that is much more the next multiple.

    >>> _pad_size(30522, 8), _pad_size(3137, 8)
    (30528, 3144)
    """
    wide = math.ceil(size / ProductShapesLimits.round) * ProductShapesLimits.round
    return (
        wide
        if wide <= (1 + ProductShapesLimits.little_more) * size
        else math.ceil(size / multiple) * multiple
    )


def small_products(run: RoofedSteps) -> list[ShorterWork]:
    """Products that are over before the device is busy."""
    mine, products = _chosen(run, _far(run), lambda *_: True)
    small = pl.col("roof_ns").sum().over("call") < ProductShapesLimits.latency_ns
    mine = mine.filter(small & (pl.col("call") >= 0))
    lost = float(mine["lost_ns"].sum())
    if not products or not run.worth_telling(lost):
        return []
    time, calls = float(mine["dur_ns"].sum()), _calls(mine)
    return [
        run.shorter_work(
            "small-products",
            f"{run.many(calls, 'matrix products')} too small to fill the device {_take(run, mine)} "
            f"{run.steps.part(time / run.divisor)}: {units.brief_ns(time / calls)} each, "
            f"{units.brief_ns(float(mine['roof_ns'].sum()) / calls)} at their roofline.",
            mine,
            run.evidence(mine),
        )
    ]


def few_rows(run: RoofedSteps) -> list[ShorterWork]:
    """Products of a few rows, which take as long as reading their weights."""
    bound = run.kernels.filter(
        pl.col("family") == "gemm", pl.col("bound") == MEMORY, pl.col("roof_ns") > run.shortest_ns
    )

    def reads_weights(_: int, product: Product) -> bool:
        most = product.weights.bytes > ProductShapesLimits.weights * (
            product.a.bytes + product.b.bytes
        )
        # Weights of few bits cannot be made much smaller.
        is_wide = product.weights.element_bytes >= ProductShapesLimits.min_bytes
        return product.is_skinny and product.batch == 1 and most and is_wide

    mine, products = _chosen(run, bound, reads_weights)
    left = pl.max_horizontal(ProductShapesLimits.smaller * pl.col("dur_ns"), run.shortest_ns)
    mine = mine.with_columns(left_ns=left.clip(upper_bound=pl.col("dur_ns")))
    if mine.is_empty() or not run.worth_telling(float((mine["dur_ns"] - mine["left_ns"]).sum())):
        return []
    time = float(mine["dur_ns"].sum())
    rows = sorted({min(products[number].m, products[number].n) for number in mine["set"]})
    rows_text = (
        f"{rows[0]} to {rows[-1]} rows" if len(rows) > 1 else units.count_noun(rows[0], "rows")
    )
    moved = float(mine["bytes"].sum()) / run.divisor
    return [
        run.shorter_work(
            "few-rows",
            f"{run.many(_calls(mine), 'matrix products')} with {rows_text} {_take(run, mine)} "
            f"{run.steps.part(time / run.divisor)} to read their weights: "
            f"{units.brief_bytes(moved)}{run.steps.a_step} at "
            f"{units.share(float(mine['memory_ns'].sum()), time)} of the memory bandwidth.",
            mine,
            run.evidence(mine),
        )
    ]


def unfilled_waves(run: RoofedSteps) -> list[ShorterWork]:
    """Products whose tiles do not fill the multiprocessors, or whose output not the tiles."""
    many = _multiprocessors(run)
    if not many:
        return []
    mine = run.kernels.filter(
        pl.col("family") == "gemm",
        pl.col("bound") == MATRIX,
        pl.col("peak").fill_null("").str.ends_with("_tensor"),
    )
    named, rows = device_names(run.efficiency.trace), mine["row"].to_numpy()
    launched = (
        run.efficiency.trace.lazy("device").select(_size("grid"), _size("block")).collect()[rows]
    )
    mine = mine.hstack(launched).with_columns(pl.Series("code", named.codes[rows]))
    key, tilings = ("set", "code", "grid", "block"), {}
    for number, code, grid, block in mine.select(key).unique().iter_rows():
        product = product_of(arguments_of(run, number))
        tiling = _kernel_tiling(named.texts[code], product, many, grid, block) if product else None
        if tiling and tiling.filled < ProductShapesLimits.min_filled:
            tilings[number, code, grid, block] = tiling
    filled = [
        tilings[row_key].filled if row_key in tilings else None
        for row_key in mine.select(key).iter_rows()
    ]
    mine = mine.with_columns(pl.Series("filled", filled, dtype=pl.Float64))
    mine = mine.filter(pl.col("filled").is_not_null())
    # What is much farther below its roof has another reason.
    reached = pl.col("roof_ns").sum().over("set") / pl.col("dur_ns").sum().over("set")
    mine = mine.filter(reached > ProductShapesLimits.explained * pl.col("filled"))
    left = pl.max_horizontal("left_ns", pl.col("filled") * pl.col("dur_ns"))
    mine = mine.with_columns(left_ns=left)
    lost = float((mine["dur_ns"] - mine["left_ns"]).sum())
    if not run.worth_telling(lost):
        return []
    by = mine.group_by(key).agg((pl.col("dur_ns") - pl.col("left_ns")).sum().alias("lost"))
    worst = tilings[by.sort("lost", *key).select(key).row(-1)]
    time = float(mine["dur_ns"].sum())
    return [
        run.shorter_work(
            "unfilled-waves",
            f"{run.many(_calls(mine), 'matrix products')} with idle multiprocessors "
            f"{_take(run, mine)} {run.steps.part(time / run.divisor)}. The costliest, "
            f"{worst.product.m} x {worst.product.n} in tiles of {worst.tile[0]} x {worst.tile[1]}, "
            f"has {units.count_noun(worst.tiles, 'tiles')} for {many} multiprocessors: "
            f"{worst.words(many)}, so {units.share(1 - worst.filled, 1)} of the device is unused.",
            mine,
            run.evidence(mine),
        )
    ]


class _Tiling(msgspec.Struct, frozen=True):
    product: Product
    tile: tuple[int, int]
    tiles: int
    waves: int
    filled: float
    """What of the capacity of all waves is of use, 0 to 1."""

    def words(self, many: int) -> str:
        last = self.tiles - (self.waves - 1) * many
        if self.waves == 1:
            return f"{many - last} have none"
        return f"the last of {self.waves} rounds has {last}"


def _size(shape: str) -> pl.Expr:
    """How many are in a grid or a block; 0 where that was not recorded."""
    x, y, z = (pl.col(f"{shape}_{axis}") for axis in "xyz")
    return (x * y * z).fill_null(0).alias(shape)


def _kernel_tiling(
    kernel: str, product: Product, many: int, grid: int = 0, block: int = 0
) -> _Tiling | None:
    """How a kernel cuts its output, as its name tells; the better of both orientations.

    None where more blocks were launched than there are tiles: several share one.  Fewer blocks
    (one per multiprocessor, say) take tiles in turn.

    >>> half = "c10::Half"
    >>> product = Product(1, 1024, 768, 768, Tensor((1024, 768), half), Tensor((768, 768), half))
    >>> _kernel_tiling("gemm_f16_128x256_64x3_nn", product, 132).tiles
    24
    """
    match = _TILE.search(kernel)
    if match is None or _SHARED_TILES.search(kernel):
        return None
    sizes = int(match[1]), int(match[2])
    if math.prod(sizes) < ProductShapesLimits.min_tile:
        return None
    ways = []
    for down, across in (sizes, sizes[::-1]):
        tiles = product.batch * math.ceil(product.m / down) * math.ceil(product.n / across)
        waves = math.ceil(tiles / many)
        filled = product.batch * product.m * product.n / (waves * many * down * across)
        # Libraries of ROCm have threads in their grids.
        if grid <= tiles or grid == tiles * block:
            ways.append(_Tiling(product, (down, across), tiles, waves, filled))
    return max(ways, key=lambda way: way.filled, default=None)


def _multiprocessors(run: RoofedSteps) -> int:
    recorded = (device.multiprocessors for device in run.efficiency.trace.metadata.devices)
    published = run.efficiency.peaks.multiprocessors if run.efficiency.peaks else None
    return next(filter(None, (*recorded, published)), 0)


def _take(run: RoofedSteps, kernels: pl.DataFrame) -> str:
    """The verb for the calls of an average step."""
    return "takes" if round(_calls(kernels) / run.divisor) <= 1 else "take"


def _calls(kernels: pl.DataFrame) -> int:
    """Calls that own kernels; kernels without one count each."""
    owned = kernels["call"].filter(kernels["call"] >= 0).n_unique()
    return max(1, owned + int((kernels["call"] < 0).sum()))
