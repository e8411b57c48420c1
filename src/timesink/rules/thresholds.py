"""The numbers that decide findings about one run: unit, meaning, source.

A class holds the numbers of one file; a number without a unit in its name or text is a factor.
Chosen on the faults of docs/accuracy/lab.md; those of efficiency on docs/accuracy/efficiency.md.
"""

from __future__ import annotations

from timesink.model.limits import Limits


class CommunicationLimits(Limits):
    """`rules.communication`."""

    min_talking = 0.1
    """Part of a step with communication exposed from which on it is a finding."""
    max_hidden = 0.1
    """Of exposed communication: where less can be hidden, overlap is not what to try."""


class CompiledLimits(Limits):
    """`rules.compiled`."""

    min_between = 0.05
    """Part of a step that the host is between compiled graphs, from which on breaks are no small
    matter."""
    min_again_s = 0.5
    """Seconds of compiling once more from which on they are a finding: people notice half a
    second."""
    long_again_s = 30.0
    """The same from which on it is no small matter; a choice."""


class GraphsLimits(Limits):
    """`rules.graphs`."""

    min_outside = 0.1
    """Part of the device work of steps outside of the graphs, from which on it is a finding."""
    min_launches = 20
    """Launches of a step outside of the graphs: fewer cost a tenth of a millisecond at most."""
    min_memory = 0.1
    """Part of the memory of the device that graphs hold, from which on it is a finding."""


class CounterNamesLimits(Limits):
    """`rules.counter_names`."""

    floor = 0.1
    """Part of the capacity of a resource: use below it is not listed, unless its row says
    otherwise."""
    filled = 0.9
    """Part of the rate of a link that is left for data, beside headers and acknowledgements."""


class DeviceWorkLimits(Limits):
    """`rules.device_work`."""

    min_share = 0.02
    """Part of a step from which on kernels of a kind are a finding."""
    tiny_ns = 5_000
    """About what one launch costs the host."""
    min_tiny = 0.5
    """Part of the launches that are of tiny kernels: with fewer, launching is not what they
    share."""
    min_tiny_per_step = 50
    """Launches of tiny kernels in a step: fewer cost less than a quarter of a millisecond."""
    min_copies = 0.005
    """Part of a step with exposed copies, or in copying calls, from which on they are a finding."""
    pinned_speedup = 2.0
    """Copies from pinned memory reach at least twice the rate, and do not block the host."""
    min_waiting = 0.05
    """Part of a step that waits for the device cost from which on they are a finding."""
    min_waits_per_step = 10
    """One or two waits belong to most steps: the loss is printed, the clock is read."""
    near_limit = 0.9
    """Part of the memory of the device: beyond it fragmentation may already fail an allocation."""
    tensor_core_speedup = 2.0
    """What half precision or TF32 gives a large matrix product at the very least."""


class EfficiencyLimits(Limits):
    """`rules.efficiency`."""

    min_saved = 0.01
    """Part of a step: what would save less is not told."""
    max_share = 0.5
    """Part of the time of a group of operators: with more than half of it the group is described
    by it."""
    noticed = 0.005
    """A saving below this share of a step is none."""
    busy_share = 0.9
    """A device that works for this part of a step is hardly idle: it is the bottleneck."""


class FusionLimits(Limits):
    """`rules.fusion`."""

    again = 1.25
    """Fused attention computes its scores again on the way back: five products for four."""
    near = 12
    """Operators from a softmax to the products before and after it, at most."""
    min_handed = 2**18
    """Bytes of a tensor from which on passing it through memory takes time."""
    bound_by_memory = 0.05
    """Part of its time that an operator's bytes take at the peak of memory, at least, where they
    are what it waits for."""
    about_alike = 0.02
    """Part by which two sizes of a tensor may differ and it is the same tensor."""
    max_spared = 0.9
    """Of the bytes of an operator: something is left to read or write."""


class HostContentionLimits(Limits):
    """`rules.host_contention`."""

    min_samples = 2
    """One sample may be of a moment."""


class IdleLimits(Limits):
    """`rules.idle`."""

    min_between = 0.1
    """Part of the recording between steps, with an idle device, from which on it is told beside
    the steps."""
    min_loading = 0.05
    """Data loading, in steps or between them, is a finding from this share of the time on."""
    min_utilisation = 0.5
    """Part of a step: a device that works less is not what decides how long the step takes."""
    min_idle = 0.2
    """The main cause of idle time is named from this part of the steps on."""
    min_operator = 0.3
    """One operator with this part of a step, while no device works, is the answer by itself."""
    copy_bound_share = 0.25
    """Copies that take this much of a step, beside kernels, are the reason themselves."""
    max_time_difference = 0.01
    """How far its time may be from that of the table of operators and be called the same."""
    looked_at = 50
    """Longest idle intervals of which the host work is looked up: the rest hardly changes their
    sum."""


class KernelUseLimits(Limits):
    """`rules.kernel_use`."""

    min_pct = 5.0
    """Share of a device's time from which a rule speaks."""
    min_softmax_pct = 3.0
    """A softmax is only part of what a fused attention kernel saves."""
    matters = 0.1
    """Share of a part from which something in it is worth a word."""
    usual_multiprocessors = 100
    """Of devices that do not say how many they have."""
    idle_tensor_pct = 5.0
    """Percent of the peak of matrix units: a product below it does not use them."""
    min_share_of_time = 0.5
    """Part of the time of some launches that shows what most of it is."""
    min_layers = 4
    """Launches of a softmax from which it belongs to layers, not to a loss."""


class ProductShapesLimits(Limits):
    """`rules.product_shapes`."""

    far = 0.5
    """Of the roof: products that reach more need no reason."""
    aligned_bytes = 16
    """What matrix units load at once: rows have to begin at multiples of it."""
    few_rows = 64
    """Rows or columns of a product: with fewer, tiles of matrix units are not filled."""
    weights = 0.8
    """Part of the bytes from which on a product reads weights, and little else."""
    smaller = 0.5
    """Of their bytes is left of weights of 16 bits in 8."""
    min_bytes = 2
    """Bytes of an element of weights: fewer cannot be made much smaller."""
    latency_ns = 3_000.0
    """Products that good kernels do in less are over before the device is busy."""
    min_filled = 0.8
    """Part of the last wave of blocks that works: with less, the wave is the reason."""
    explained = 0.4
    """Part of what the roof allows that an unfilled wave explains at least."""
    min_tile = 128 * 64
    """Elements of an output tile from which on a multiprocessor has one at a time."""
    round = 64
    """Elements: sizes are rounded up to this multiple, which suits tiles of every device."""
    little_more = 0.01
    """Part by which rounding up may enlarge a size; else the smallest aligned size is advised."""


class ReplayedLimits(Limits):
    """`rules.replayed`."""

    min_waits_per_step = 0.5
    """Waits of a step: what comes in fewer than every other step is not a part of the loop."""


class StepsLimits(Limits):
    """`rules.steps`."""

    min_gap_ns = 1_000_000
    """Nanoseconds: shorter gaps are not large, however short the steps are."""
    min_gap_share = 0.05
    """A gap is large when it takes this much of an average step, and at least a millisecond."""


class MemoryLimits(Limits):
    """`rules.memory`.  Chosen by what is worth a look on devices of tens of gigabytes."""

    warm_up_steps = 2
    """Steps that take what stays: optimizer state, caches of libraries."""
    min_steps = 3
    """Steps in a row in which live memory grows from which on it is no chance."""
    min_growth_bytes = 2**16
    """Bytes a step; less does not fill a device in a day of steps."""
    min_free_bytes = 2**29
    """Reserved bytes in used segments that nothing uses, at least."""
    min_free_share = 0.15
    """The same as a part of what is reserved."""


class CollectiveLogLimits(Limits):
    """`rules.collective_log`."""

    min_ranks = 1
    """Ranks that wait in a collective from which on it hangs."""
    min_collectives = 10
    """Collectives of a group: of fewer, who is last is chance."""
    min_share_last = 0.6
    """Part of the collectives that one rank enters last; chance gives one of eight an eighth."""
    min_wait_ns = 200_000
    """Nanoseconds (median) that others wait; clocks of hosts agree to about so much."""
    min_wait_share = 0.1
    """The same as a part of how long the collective takes."""
