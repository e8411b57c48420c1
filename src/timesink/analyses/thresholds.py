"""The numbers that decide what a recording can answer, steps and stragglers: unit, meaning, source.

A class holds the numbers of one file; a number without a unit in its name or text is a factor.
Chosen on the recordings of docs/accuracy/ranks.md (ranks), profiler_overhead.md, critical_path.md,
what_if.md (replay) and compare.md (statistics).
"""

from __future__ import annotations

from timesink.model.limits import Limits


class CausesLimits(Limits):
    """`analyses.ranks.causes`."""

    more_work = 0.1
    """Beyond this kernels are given more work, not by chance."""
    all_slower = 0.5
    """Most kernels are slower by about as much as all of them: then it is the device."""
    factor_from = 2.0
    """Factor from which on a sentence says "times as long" instead of a percentage."""
    far = 100.0
    """More than so many times as long is no number to remember: the peers hardly have any of it."""
    min_share = 0.015
    """Part of the run that a cause of a straggler costs at least."""
    outlying = 8.0
    """Robust standard deviations by which the copies of a rank are slower than those of others."""
    min_slower_copies = 0.2
    """Part by which the copies of a rank are slower at least."""
    min_more = 0.1
    """A stage may do so much more than the others before it is worth a word."""
    nearly_all = 0.2
    """The rank of a stage, by what its kernels take, that stands for it."""


class ClocksLimits(Limits):
    """`analyses.ranks.clocks`."""

    min_scale_ns = 200.0
    """Nanoseconds: residuals of clocks scatter by this, however alike few collectives end."""
    max_drift_ppm = 200.0
    """What two clocks drift apart at most: crystals of computers keep within 100 ppm each."""
    far_beyond = 10.0
    """So many times that is no drift of clocks, however uncertain it is."""
    certain = 2.36
    """Standard errors of a 95 % interval of eight blocks: Student's t with seven degrees of
    freedom."""
    min_for_drift = 8
    """Collectives from which on a drift is estimated beside the offset."""


class CollectivesLimits(Limits):
    """`analyses.ranks.collectives`."""

    many = 0.25
    """Part of the members that queue from which on the whole call is taken as queued."""
    min_gradient_bytes = 2**18
    """A group of everybody that never moves as much exchanges numbers, not gradients or weights."""
    min_groups = 3
    """Of fewer nobody knows what is usual."""
    min_slower = 0.1
    """Part by which transfers take longer than usual at least."""
    outlying = 6.0
    """Robust standard deviations by which transfers of a group exceed those of other groups."""


class LatenessLimits(Limits):
    """`analyses.ranks.lateness`."""

    min_share = 0.025
    """What one of many ranks must cost of the run to be worth a word."""
    enough_ranks = 8
    """Ranks from which on the usual is known; fewer need to cost up to twice `min_share`."""
    min_share_at_once = 0.1
    """Part of the run that a rank costs in a single step to be told."""
    times_noise = 2.5
    """How often what others cost a rank must cost."""
    min_steps = 2
    """Late steps below which `min_share_at_once` counts."""
    noise_floor = 0.002
    """Of a step: what nobody needs to explain."""
    outlying = 6.0
    """How many robust standard deviations a rank that is always slow is away from the others."""
    any_other = 0.05
    """How likely it may be that the same of all ranks comes last so often."""
    chance = 0.01
    """How likely it may be that any rank is as steadily slow, with all of them alike."""
    max_odd_share = 0.5
    """More than this share of the ranks cannot be odd."""
    min_to_part = 4
    """Fewer ranks do not tell two sorts of them apart."""


class RankClustersLimits(Limits):
    """`analyses.ranks.rank_clusters`."""

    nearly = 0.9
    """Of what the rank loses that loses most: who loses as much is told with it."""
    min_share = 0.015
    """Of a step: what is less than this sets nobody apart."""
    outlying = 6.0
    """Times the noise of a step that sets a rank apart."""
    min_ranks_in_cluster = 3
    """Ranks of a role that are compared among each other; fewer are compared with all."""
    few_penalty = 2.0
    """Weight by which the limit rises for few peers: 1 + 2 / peers."""
    as_close = 0.003
    """Of a step: ranks within this are the same."""
    also = 0.5
    """What is at least this part of the largest difference of a rank sets it apart as well."""
    rare = 8
    """Times fewer than the commonest role: such a role is rare, and no straggler for being
    different."""
    other_level = 2.0
    """How many times as large a difference makes another group."""


class RankSetLimits(Limits):
    """`analyses.ranks.rank_set`."""

    times_uncertainty = 10.0
    """Times its uncertainty that the distance of two clocks is to be told: the farthest of many
    are four to six times apart by chance."""
    min_apart_ns = 1_000
    """Nanoseconds: clocks closer than this are aligned."""


class ReplayLimits(Limits):
    """`analyses.ranks.replay`."""

    like = 0.2
    """How much longer or shorter than the run it may be when it is played as it was."""


class RunsLimits(Limits):
    """`analyses.ranks.runs`."""

    max_apart_ns = 60_000_000_000
    """Profilers and clocks of the ranks of a run are seconds apart; runs are started minutes
    apart."""
    earliest_date_ns = 1_262_304_000_000_000_000
    """The start of 2010: smaller times count from the start of a machine or a program."""
    same = 0.5
    """Part of the calls, or of the kernel time, that recordings of one program have in common."""


class FitnessLimits(Limits):
    """`analyses.fitness`."""

    long_wait_ns = 1_000_000
    """A wait goes on for some microseconds after its work has ended; this long it is for other
    work."""
    min_share = 0.1
    """Of the steps: what was not recorded for less than this leaves their conclusions as they
    are."""
    min_lost_launches = 0.02
    """Of the launches: recordings of public test suites lose up to 0.5 % at their ends."""
    min_lost = 3
    """Fewer kernels may be those that were queued when the recording ended; a graph is a whole
    step."""
    min_main_share = 0.5
    """Part of the loss that one reason explains to be the reason."""
    clock_skew_ns = 20_000
    """Host and device clocks of HIP recordings are up to so far apart."""
    min_early = 0.05
    """Of the launches: with fewer of them out of order a clock was corrected, and fits again."""


class DamageLimits(Limits):
    """`analyses.damage`."""

    min_damaged_share = 0.005
    """Of the events: fewer that are hurt leave every answer as it is, but the equality of
    programs."""
    min_fatal_share = 0.1
    """Of the events: with more of them hurt nothing about time can be answered."""
    min_crossed_share = 0.02
    """Of the host events: undamaged recordings reach 0.5 %, by annotations that are not calls."""
    min_distinct_share = 0.01
    """Of the events: clocks in microseconds or finer give each event its own time, or nearly so."""
    min_events = 10
    """Fewer events may well start at one time."""


class AutocorrelationLimits(Limits):
    """`analyses.statistics.autocorrelation`."""

    min_cosines = 3
    """More see less of what is slow; fewer have so wide an interval that 30 % more is no change.
    Long runs can afford more: 0.4 n^(2/3), the published choice for correlations of about
    0.7."""
    common = 0.8
    """Lag-1 autocorrelation that is assumed before any step is seen."""
    common_weight = 6.0
    """Steps that the assumed autocorrelation counts as. Both were chosen among 324 ways to
    estimate, for the fewest false alarms on made-up noise among those that still find a fifth
    more in six steps and the known faults in recordings."""
    max_autocorrelation = 0.95
    """What is more alike is a trend, of which the mean cannot be known at all."""
    min_left = 0.05
    """Part of the scatter that is left around the mean of the sequence at least."""


class ChangePointsLimits(Limits):
    """`analyses.statistics.change_points`."""

    min = 3
    """Values a level has at least: fewer are outliers, or not known yet."""
    of_parts = 0.025
    """Values that a level has in a stretch with several, as a part of the stretch."""
    of_cut = 0.6
    """Part of the chance that is left to one cut, in stretches long enough for two."""
    permutations = 399
    """Random orders of a long stretch: the smallest p-value is 1 / 400."""
    more = 1999
    """Orders of stretches that are not long: they cost little, and 399 would miss some steps."""
    may = 0.01
    """How seldom the newest values of a level are so far from it by chance."""
    min_pct = 0.5
    """Changes of a level that are worth telling, in percent."""
    often = 3
    """A count that is another one at more than every so many rows is no exact one."""
    min_noise = 0.005
    """Part of the median that is noise, however alike neighbours are."""
    critical = 4.0
    """Standard errors between two levels; the largest of all places to cut is far out by chance."""
    shortest = 2
    """Measurements of a level: one alone is an outlier."""
    warm = 1.2
    """Factor by which the first measurements of a warm-up exceed later ones."""
    warm_quantile = 0.9
    """Quantile of later measurements that those of a warm-up exceed."""
    far_out = 5.0
    """Robust standard deviations by which measurements of a warm-up exceed later ones."""
    max_warm = 0.2
    """What lasts longer than this part of a run is a level of its own."""


class ExactLimits(Limits):
    """`analyses.statistics.exact`."""

    min_a_side = 3
    """Two steps beside each other are one state of the machine, however many the other side has."""
    run_floor = 0.028
    """Part by which two runs of one program differ anyway: 1.96 times the root of two times the
    one percent that `mean_changes` adds to the error of each mean."""
    max_counted = 40
    """Steps of the smaller side up to which orders are counted; of more, the normal
    distribution."""
    max_steps = 500
    """Steps of a side that are looked at, spread evenly over it."""
    many_steps = 30
    """With so many steps a side the smallest p-value is below 1e-16, which no limit comes near."""


class MeanChangesLimits(Limits):
    """`analyses.statistics.mean_changes`."""

    enough = 8
    """Measurements a side needs: fewer do not show how far they wander."""
    far = 1.6
    """Ratio of two positive means from which on it is judged as well: runs without a change are
    hardly ever so far from each other."""
    of_span = 0.25
    """Part of what both sides span that a gap takes, where the ratio of means is `far`."""
    floor = 0.01
    """Part of its mean by which a run differs from the next anyway, as three recordings of the
    same training do. No more steps help against that: the smallest change that is ever found
    is 2.8 %."""


class PermutationLimits(Limits):
    """`analyses.statistics.permutation`."""

    min = 4
    """Measurements a side needs before any exchange can be rare enough."""
    trim = 0.2
    """Part of the measurements left out at either end: one of five may be anything."""
    exact = 3000
    """Up to this many ways to choose a side all of them are looked at."""
    draws = 1999
    """Random choices of a side: the smallest p-value is 1 / 2 000."""
    min_draws = 499
    """Random choices of a side of long runs: the smallest p-value is 1 / 500."""
    max_measurements = 500
    """Measurements of a side; of more, neighbours are taken together, which makes the test
    stricter where they are alike, or, where the other side has too few for that, equally many
    are left out between each two."""


class RobustLimits(Limits):
    """`analyses.statistics.robust`."""

    mad_to_sigma = 1.4826
    """Standard deviation of normal noise in median absolute deviations."""
    median_error = 1.2533
    """Standard error of a median of normal noise in that of a mean: the root of half of pi."""
    window = 5
    """Measurements whose median says what is usual around one of them."""
    spreads = 3.0
    """Robust standard deviations that an outlier is from the median around it."""
    min_step = 0.05
    """Part of the median that an outlier is from it at least."""
    rare = 0.1
    """What happens more often than this is no outlier but what the measurements are like."""
    min_filtered = 3
    """Fewer values do not show what is usual."""


class SequentialLimits(Limits):
    """`analyses.statistics.sequential`."""

    trim = 0.1
    """Part of the pairs left out at either end."""
    explains = 0.4
    """Part of the scatter between pairs that their order explains to be taken out."""
    min_to_explain = 8
    """Pairs from which on their order may explain scatter."""


class SignificanceLimits(Limits):
    """`analyses.statistics.significance`."""

    alpha = 0.05
    """Chance of calling a difference one that is none."""


class AnnotationsLimits(Limits):
    """`analyses.cycles.annotations`."""

    worth_a_word = 0.05
    """Part of the marked work that stands in other processes from which on it is said."""
    part_slack = 0.5
    """A part whose length is off the usual by less than this share of it is taken as a whole
    step."""
    covering = 0.7
    """An annotation that holds this share of the recorded work spans the unit."""
    device_time = 0.5
    """Less than this share of the time of the device is launched in what only counts many calls."""
    irregular = 0.5
    """Marks whose distances spread more than this, relative to their mean, do not beat time."""
    sparse = 0.1
    """A mark that lasts for less of the time only marks a place in its step."""


class KernelPeriodLimits(Limits):
    """`analyses.cycles.kernel_period`."""

    weight_of_time = 0.5
    """Half of a symbol's weight is its share of the time, half is that it is one symbol of many."""
    like_itself = 0.5
    """A lag after which this share of the symbols is met again may be the period."""
    max_lags = 8
    """Lags that are tried, from the most alike on."""
    longest_row = 8
    """Kernels in a row that may mark a step together: one, two, four or so many."""
    uneven = 0.6
    """Marks whose distances spread more than this, relative to their mean, are not tried."""
    in_order = 0.87
    """Share of the kernels of a step that come in the same order in the next; chance gives 0.8."""
    nearly = 0.9
    """A way to cut whose score is this share of another's is about as good."""
    waste = 0.2
    """Steps that leave out more than this share of one at the beginning are begun elsewhere."""
    nearly_all = 0.9
    """Share of the parts that must be like another one."""
    min = 12
    """Fewer kernels than this show no pattern."""
    exact = 0.95
    """A pattern that holds this well needs no other explanation."""
    pause = 5.0
    """A step does not last over a pause of so many typical steps."""
    min_kernel_share = 0.8
    """A last step with fewer kernels than this share of the usual was cut by the recording."""


class KernelSequenceLimits(Limits):
    """`analyses.cycles.kernel_sequence`."""

    main_stream = 0.5
    """A stream with this share of a device's work shows the order of it; else all streams
    together."""


class PythonCallsLimits(Limits):
    """`analyses.cycles.python_calls`."""

    repeating = 0.5
    """A loop is found where calls that repeat make up this share of the time on top."""
    usual = 0.5
    """A call belongs to the loop when it comes between this share of the marking calls."""
    longest_share = 80
    """Without names to tell, prefills are among the longest: above this percentile."""
    too_short_ns = 1_000_000
    """Nanoseconds: shorter calls are no steps of a model."""


class SearchLimits(Limits):
    """`analyses.cycles.search`."""

    min = 0.4
    """A reading nobody asked for is taken from this confidence on."""


class SpansLimits(Limits):
    """`analyses.cycles.spans`."""

    min_repeats = 3
    """What happens less often than this was not seen to repeat."""
    nearly = 0.9
    """Totals this close together are taken as equal; the longer call is then the outer one."""


class CriticalPathLimits(Limits):
    """`analyses.replay.critical_path`."""

    on_path_ns = 1_000.0
    """With less slack than this something decides, or nearly does."""


class GraphLimits(Limits):
    """`analyses.replay.graph`."""

    queued_ns = 20_000
    """Work that was launched this long before it could start was queued."""
    long_launch_ns = 200_000
    """A launch takes some microseconds; one that takes this long did something else before."""
    max_pace_ns = 30_000
    """No device takes longer from one activity to the next: see `device_idle.SHORT_GAP_NS`."""
    after_another_ns = 10_000
    """Work that started so soon after that of another stream had ended waited for it."""
    after_event_ns = 50_000
    """So soon at most where the host told its stream to wait: 5 to 10 us on NVIDIA, 9 to 19 on
    AMD."""
    skew_ns = 1_000
    """Nanoseconds by which clocks of streams of one device may differ."""


class OwnClockLimits(Limits):
    """`analyses.replay.own_clock`."""

    long_ns = 1_000_000
    """A call of a library that does nothing that is recorded for so long builds or searches
    something, and may take far longer under a profiler."""
    long_share = 0.1
    """Part of a step in calls that nothing recorded explains, from which on it is said."""
    min_pause_ns = 300.0
    """From one kernel to the next of a stream at least, or what was recorded."""
    slower = 1.03
    """Steps without the profiler that take this many times as long as with it were disturbed."""
    min_left = 0.2
    """Less than this share of a step is never left: programs are up to five times as slow.
    Costs that leave less are too high for this machine."""
    unlinked_share = 0.5
    """Device work without a launch keeps its time, whatever the host takes: with most of it no
    replay tells how the program runs."""
    min_calls = 20
    """Calls whose median shows how much slower recording made a kind of calls."""


class PlayLimits(Limits):
    """`analyses.replay.play`."""

    min_share = 0.03
    """What is left of any stretch, whatever is taken out of it."""


class PointsLimits(Limits):
    """`analyses.replay.points`."""

    held_ns = 30_000
    """A runtime call that took this long, and returned when work of the device ended, waited for
    it."""
    stuck_ns = 300_000
    """Nanoseconds: a staged copy that takes longer waited for the device."""
    return_ns = 2_000
    """What a call takes that need not wait."""
    many_pending = 256
    """Launches wait for a place in the queue only where so many are before them."""
    idle_ns = 200_000
    """A thread inside of no call for this long waited for something."""
    busy_share = 0.5
    """Of the time a thread is quiet the other works at least this share, if it works for it."""
    min_wait_ns = 1_000_000
    """Nanoseconds without a call: such a thread may wait for a collective of another one."""
    same_end_share = 0.2
    """Part of the wait by which its end may differ from that of the collective."""
    min_waiting_share = 0.7
    """A thread that makes no call for a millisecond or more, of which a collective of another
    thread takes this share, and goes on about when that ends, waited for it, though no call
    says so."""


class PredictionLimits(Limits):
    """`analyses.replay.prediction`."""

    max_costs = 4.0
    """How many times what recording cost is taken out, at most, for the lower end of an
    interval."""
    half = 0.5
    """What kernels without a known roof, copies from pageable memory and host code outside of
    calls are tried at."""
    min_bare_share = 0.02
    """Host code outside of calls that decides less of a step is not tried."""
    at_roof = 0.95
    """Kernels that would take more than this share of their time at their roof are not tried."""


class WhatIfLimits(Limits):
    """`analyses.replay.what_if`."""

    graph_launch_ns = 10_000.0
    """What launching a whole graph takes the host."""
    pace_ns = 1_000.0
    """From one node of a graph to the next, at most, and from queued work to the next."""
    passes = 2.0
    """What one pass takes of the costliest operator it stands for: a fused Adam reads and writes
    seven tensors, `addcdiv_` four."""
    held_share = 0.5
    """A call that goes on for this share of the copy it made makes it itself."""


class SnapshotLimits(Limits):
    """`analyses.snapshot.tables`."""

    max_steps_in_detail = 200
    """Steps of which the module that holds most is looked up."""
