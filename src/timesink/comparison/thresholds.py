"""The numbers that decide what changed: verdicts, causes, the gate: unit, meaning, source.

A class holds the numbers of one file; a number without a unit in its name or text is a factor.
Chosen on the recordings of docs/accuracy/compare.md (steps, verdicts), diagnosis.md (causes),
program.md (program), ab.md (turns, repeated runs) and clustering.md (exploration).
"""

from __future__ import annotations

from timesink.model.limits import Limits


class CaseLimits(Limits):
    """`comparison.causes.case`."""

    min_more = 0.5
    """Calls per step by which something must run more often to be more of it."""
    same_number = 0.05
    """Part by which the growth of calls may differ from a multiple and be that multiple."""
    some = 4
    """Calls per step of which others are not a multiple by chance."""
    many = 10
    """Calls per step that do not come to be more by chance at the same time as others."""
    few_each = 4
    """Times per added call that a function may be called, and be what the added call does."""
    fresh_each = 8
    """Operators that a value takes which is read: `isfinite(x).all()` is seven of them."""
    same_proportion = 0.3
    """Part by which the growth of calls may differ from the proportion they grow in."""
    nearly_all = 0.8
    """Part of the time of a group that has to agree for the group to agree."""
    same_work = 1.1
    """Factor of the usual call by which the work of steps may differ and still be the same."""
    max_weight = 0.1
    """No function has more than this part of the say, so that a large one does not judge itself."""
    nearly_always = 0.8
    """Part of the steps in which an excess has to show."""
    clearly = 0.25
    """Part by which something is slower than all else before it stands out."""
    part_of_mean = 0.25
    """Part of the usual excess that a step must have to count as one that has it."""
    usual = 0.9
    """Quantile of the base's own scatter that counts as usual."""
    shows = 0.1
    """Part of what is demanded that must be there: what hardly shows in the step is hidden."""
    min_share = 0.01
    """Part of a step below which nothing is worth a cause."""


class CorrectedStepsLimits(Limits):
    """`comparison.causes.corrected_steps`."""

    same_steps = 0.02
    """How far the mean step of a recording may be from that of the compared process: they are of
    the same steps."""
    hardly_shown = 0.5
    """A change as recorded that shows by less than this part without overhead is the profiler's."""
    worth_telling = 0.1
    """Changes on both clocks that differ by less, in parts of the base, need no second figure."""


class DeviceLimits(Limits):
    """`comparison.causes.device`."""

    min_part_of = 0.25
    """Part of the least that is worth a cause which a family must change by to be spoken of in
    one."""
    steady = 1.2
    """Factor by which kernels may be slower or faster and still keep their pace."""
    same_total = 0.05
    """Part by which the number of launches may differ and be as many."""
    worth_itself = 0.25
    """Part of what the host lost that kernels must have gained, to be spoken of without it."""
    grew_more = 1.1
    """Factor by which kernels that fill the device grew beyond those that do not."""
    same_launches = 0.1
    """Launches of a family per step that differ by less are as many."""
    same_time = 0.1
    """Part by which the time of a kernel may differ and be the same."""
    nearly_all = 0.5
    """Part of the time: the kernel that is judged has some of the rest."""
    min_steps_to_separate = 4
    """Steps a side needs before all of one being longer than all of the other means something."""
    same_work = 0.02
    """Blocks or bytes per launch that differ by less than this part are as many."""
    min_share_explained = 0.5
    """Part of the time that the kernels of a cause hold at least."""
    min_more = 0.02
    """Part by which kernels run more often before others may do so in the same proportion."""
    some = 4
    """Launches of one kernel per step that calls are not more by just by chance."""
    far_longer = 20.0
    """Times the median call: a call beyond it holds other work and is left out."""
    as_many = 0.3
    """Launches that differ from those of kernels by less than this part are the launches of
    these."""


class DiagnosisLimits(Limits):
    """`comparison.causes.diagnosis`."""

    min_put_together = 3
    """Steps a side needs for a verdict after steps were put together: these are few, long ones
    whose borders are a guess."""
    min_steps = 4
    """Steps of a side: with fewer, causes are a hint and said to be one."""
    closer = 0.5
    """Part of the largest cause from which on lost matrix units come before the edit behind
    them."""
    between_runs = 0.006
    """Part of its device time by which equal programs differ from run to run, at most."""
    worth_telling = 0.05
    """Part of the device's time by which some kernels alone must change."""


class EditFactsLimits(Limits):
    """`comparison.causes.edit_facts`."""

    min_again = 2
    """Operators of the forward pass alone that tell, found in the backward pass, that it is done
    again."""


class MachineLimits(Limits):
    """`comparison.causes.machine`."""

    by_others = 0.2
    """Part of what more of the processor is used that others use at least, to be to blame."""
    notable = 0.02
    """Own load is told where it is this part of what was counted."""
    min_part = 0.2
    """Part of the larger level by which a symptom changes at least."""
    slower = 1.05
    """Own kernels that take this many times as long show that a device is shared or slower."""
    power_of_limit = 0.05
    """A device whose power rose by this part of its limit does more than before ..."""
    power_of_base = 0.2
    """Part of its former power by which the power of a device rose to do more, where the limit
    is not known."""
    sm_rise = 10.0
    """Percentage points by which the use of a device by others rose."""
    min_share_of_time = 0.5
    """Work that keeps memory busy for this part of its own time is about memory; a device that
    gives a reason for this part of the time slows down for it."""
    part = 0.2
    """Kernels grow by this part of what the clock alone would do, however much memory bounds
    them."""
    min_slower = 0.02
    """Part by which own work is slower at least when something else took its share."""
    hot_c = 85.0
    """Devices slow down at a temperature of their own, as tools of their makers print it: a P100
    at 92 C, memory of a V100 at 85 C. A cooler one is not slow for its heat."""
    at_limit = 0.93
    """Power regulation keeps the mean this close below the limit."""
    half_of_cores = 50.0
    """Beyond this share of all logical cores, threads share the units of a core."""
    short_wait = 5.0
    """Percent of the time: waits for a core that grew by less take nothing from a process."""
    more_waits = 1.5
    """Factor by which the waits of a step grew that count although they are short, if the host
    slows down."""
    turbo = 0.35
    """Processors lower their clock by less than this part as more of their cores are busy."""
    longer = 1.1
    """Factor by which waits for a core grew beyond what the step did."""
    much_traffic = 0.15
    """A network this full holds others up now and then, whoever they are."""


class EvenPaceLimits(Limits):
    """`comparison.causes.even_pace`."""

    min_pace = 0.05
    """Part by which everything takes longer or less before it is told: the same machine wanders
    by a few percent from run to run."""
    min_device_pace = 0.25
    """Part by which all kernels take longer before it is told: clocks wander with heat, and
    sharing a device takes far more."""
    min_share_at_pace = 0.5
    """Part of the time that has to keep the common pace, and of the change that this has to
    explain."""
    near = 0.5
    """Part of the common change by which that of a function may differ and still keep the pace."""
    nearly_all = 0.9
    """Part of the time of kernels that has to take longer: more work leaves some of them alone."""
    min_kernels = 3
    """Kernels that may be called all of a device's work."""


class HostLimits(Limits):
    """`comparison.causes.host`."""

    few = 3
    """Places or functions that are told one by one."""
    nearly_all = 0.8
    """A place stands for all of its sort that holds this part of what they gained."""
    backed = 0.5
    """Part of what a place gained that its function must have gained too."""
    min_share_explained = 0.5
    """Part of the time of operators that those with one pace hold at least."""
    often = 5
    """Steps that wait longer than any did before, of which as many would hardly be chance."""


class JointDiagnosisLimits(Limits):
    """`comparison.causes.joint_diagnosis`."""

    min_processes = 3
    """Processes that are needed to tell the one that is not like the others."""
    min_share = 0.01
    """Part of a step that one process loses beyond the others from which on it is told."""
    min_share_explained = 0.5
    """Part of the change of the run that a cause of one process explains at least."""


class ProgramEditsLimits(Limits):
    """`comparison.causes.program_edits`."""

    deepest = 4
    """Calls around a change that are named, from the innermost on."""
    host_weight = 0.1
    """Weight of host time beside device time when edits are ordered: it is far less certain."""
    min_self_share = 0.1
    """Part of what its consequences take that a cause must take itself."""


class ResourcesLimits(Limits):
    """`comparison.causes.resources`."""

    max_share_pct = 110.0
    """Samplers round and their clocks jitter: a share of something whole may read a little more."""
    min_values = 3
    """Values whose spread can be held against a single one."""
    floor = 0.01
    """Part of its level by which a counter differs from one run to the next anyway."""
    steady = 0.02
    """Part of its level by which a counter with a level of its own strays at most."""
    min_share_of_steps = 0.8
    """Part of the steps in which a counter with a level keeps to it."""
    min_steady = 5
    """Steps that show how far a counter strays by itself."""
    often = 0.25
    """Part of the steps in which such a counter is elsewhere, where that is no accident."""
    min_kernel_share = 0.05
    """Kernels that are to speak for all take this part of the time of kernels at least."""
    nearly_none = 0.1
    """Part of the time of kernels that may stay as it is where "nearly all" take longer."""
    min_busy_share = 0.002
    """Own work below this share of the step is too little to scale anything by."""
    rounding = 5.0
    """Percent by which two counters of the same load may differ: they are not sampled at once."""
    steady_capacity = 0.05
    """Part of its level by which a capacity may stray and still be a steady one."""
    ground = 0.2
    """Part of its capacity on top of which the level of a resource is looked at."""


class SharedDeviceLimits(Limits):
    """`comparison.causes.shared_device`."""

    min_longer = 1.25
    """Times as long as nearly all kernels must take: sharing a device costs far more, other
    things of a device at the same clock (its temperature, its other memory) less."""
    context_bytes = 100 << 20
    """What any process takes of a device's memory to use it at all: contexts take 200 MB and
    more."""
    held_up = 0.5
    """Part of what a kernel usually takes by which one that is held up takes longer, at least."""
    equal_turns = 0.1
    """Part by which turns differ: those of an H200 were 2.46 to 2.53 ms."""
    few_turns = 4
    """Turns of which a whole number is no chance."""
    nearly_all = 0.8
    """Part of the held-up kernels that waited for a whole number of turns."""


class SlowStepsLimits(Limits):
    """`comparison.causes.slow_steps`."""

    min_excess = 0.1
    """Part of a typical step by which an outlier takes longer."""
    spreads = 3.5
    """Robust standard deviations of typical steps by which an outlier takes longer."""
    min_share = 0.25
    """Typical is the lowest level at which this part of the steps is."""
    min_typical = 3
    """Typical steps that a slow one is compared with at least."""
    min_explained = 0.5
    """Part of what a slow step takes longer that a named function holds."""
    min_times = 2.0
    """Times the longest of any typical step that a named function takes."""


class FeaturesLimits(Limits):
    """`comparison.exploration.features`."""

    time_floor = 0.01
    """Share of the step."""
    calls_floor = 10.0
    """Calls per step below which a difference of calls is small."""
    other_floor = 0.05
    """For other units: this share of the median level over all roles."""
    waiting_share = 0.1
    """Share of the step in collectives from which a device mostly waits for its peers."""
    usual_weight = 3
    """The scatter that other roles show counts as much as this many steps of one's own."""
    min_scatter = 0.05
    """Logarithm of a ratio: features scatter by five percent, however alike few steps are."""
    snapshot_scatter = 2.0
    """Counters that tell what a device did at one moment jump by several doublings from one
    sample to the next, and neighbouring steps share a sample: that all are alike says
    little."""
    min_steps_for_scatter = 3
    """Steps from which a role says something about scatter."""
    min_to_trim = 5
    """Steps from which on the farthest at each end are drawn in."""
    trimmed = 8
    """One of so many steps may be out of the ordinary at each end, and one of few."""


class GroupsLimits(Limits):
    """`comparison.exploration.groups`."""

    certainty = 3.0
    """Errors that are taken off a difference."""
    nothing_shared = 16.0
    """Distance of roles that have no feature in common: a factor of 65 536."""
    same = 0.75
    """Share of the steps that must have one and the same count."""
    min_calls = 4
    """Kinds of work that are called less say nothing about how much there is of it."""
    max_kinds = 0.75
    """Share of the kinds that must differ, all in the same direction."""
    share_pct = 99.0
    """Share of the null pairs that must stay together."""
    max_difference = 0.05
    """Numbers that differ by less tell the same."""
    unlike_work = 1.5
    """Ratio of calls per step from which differently marked steps are another unit of work."""
    max_pairs = 10
    """Pairs of clusters that are compared in full: all of five clusters."""


class VerdictLimits(Limits):
    """`comparison.gate.verdict`."""

    min_runs = 5
    """Runs of each side that decide anything in turn."""
    max_runs = 200
    """Runs beyond which advising more of them helps nobody."""
    shown_pct = 50.0
    """A mean of all steps that grew by more does not pass, where nothing but a regression
    fails."""
    twice_pct = 100.0
    """Percent: a mean that doubled is a regression, however wide its interval."""
    little = 0.1
    """Causes that explain a smaller part of a change do not explain it."""


class PairingLimits(Limits):
    """`comparison.pairing`."""

    max_cross_pairs = 64
    """Pairs of unlike processes that are all compared; of more, each process has one partner."""


class AlignmentLimits(Limits):
    """`comparison.program.alignment`."""

    max_cycles = 400
    """Steps of a side that are looked at; of more, as many that lie evenly among them."""
    trimmed = 0.1
    """Part of the steps at either end of a range that may be odd ones."""
    max_step_difference = 0.1
    """Part of its calls by which a single step may differ from those of a kind and still be of
    it."""
    ragged = 0.35
    """The same for programs of which hardly two steps are equal."""
    bridged = 2
    """Equal calls between two changes that are one."""


class EditsLimits(Limits):
    """`comparison.program.edits`."""

    nearly_all = 0.8
    """Part of the operators that come so many times as often where a step does its work again."""


class SizesLimits(Limits):
    """`comparison.program.sizes`."""

    max_resized = 0.4
    """Part of the kernels with other geometry above which the work is another."""
    min_variant = 0.005
    """Part of the device's time that other variants of equal kernels must take or save."""
    clearly_resized = 1.1
    """Factor of a size beyond what inputs grow by during a recording: a token per step, mostly."""
    max_uneven = 0.2
    """Part of the operators or kernels whose sizes vary from step to step on one side only.
    Scalars count as shapes, and those of an optimizer may vary: they are fewer."""


class RankChangesLimits(Limits):
    """`comparison.rank_changes`."""

    min_change = 0.05
    """Part by which transfers of a group differ from those of the other side."""
    min_of_step = 0.002
    """Part of a step that the change of a group of transfers costs at least."""
    worse = 1.25
    """Factor by which the cost of a straggler grew to be worse than before."""
    there = 0.5
    """Who cost this part of what it costs on the other side was a straggler there as well."""
    all_pairs = 16
    """Ranks of a side up to which every rank is compared with itself in full."""
    max_pairs = 8
    """Ranks of a larger run that are compared, standing for the others."""
    explained = 0.5
    """A straggler is known already where causes of its process explain this part of its cost."""
    max_ranks_named = 3
    """Stragglers for which causes are looked for: each is a comparison of its own."""


class RepeatedRunsLimits(Limits):
    """`comparison.repeated_runs`."""

    detect_pct = 1.0
    """Changes that are to be found, unless asked otherwise."""
    min_cycles = 3
    """A run of fewer says nothing."""
    min_pairs_to_report = 3
    """Pairs from which on anything is said."""
    min_runs = 5
    """Pairs from which on it is decided while runs are made. Noise may have few levels, so that
    three or four pairs are alike by chance, which no test of their scatter allows for."""
    fast = 0.1
    """Quantile of the steps of a run that is its fast step."""
    sure = 2.0
    """Standard errors between what is certain in half of all cases and in 95 of 100, and some
    more: the scatter is an estimate."""
    doubt = 0.05
    """Chance at which a mean that grew by slow steps alone is told."""
    uneven_pct = 10.0
    """Runs are not the same whose steps all in all take so much longer."""
    interleaved = 0.8
    """Part of the runs that has a neighbour of the other side where both ran in turn."""


class EfficiencyChangeLimits(Limits):
    """`comparison.steps.efficiency`."""

    exact = 1e-6
    """Part by which computed work may differ and be equal: rounding alone."""
    seldom = 0.5
    """Part by which work may differ that is not in most steps: which steps were seen decides
    it."""


class RecordedEventsLimits(Limits):
    """`comparison.steps.recorded_events`."""

    often = 0.6
    """Share of the steps from which on a function counts as part of each."""
    unrecorded = 0.05
    """Part of the steps without device work from which on it was not recorded."""
    equally_often = 0.02
    """Part by which calls per step differ and are as many."""
    same_count = 0.1
    """Calls per step by which two counts differ and are as many: one call in ten steps."""
    same_time = 0.05
    """Part of its time by which device work may differ and is the same."""


class SidesLimits(Limits):
    """`comparison.steps.sides`."""

    threshold = 10.0
    """Rows with a higher score are worth a word."""
    max_findings = 3
    """Findings, and metrics of each, that are listed."""
    min_load_change = 1e-6
    """Metrics that changed by less did not change."""


class StepsVerdictLimits(Limits):
    """`comparison.steps.verdict`."""

    close = 5.0
    """Parts follow each other within this many steps."""
    often_given = 1000
    """Processes up to this number are those of a machine that has just started: every container
    begins with 1 again."""
    as_between_cycles = 2.0
    """Times the longest pause within parts of one run that they are apart at most."""
    min_pause = 0.1
    """Part of a step that parts of one run may be apart anyway."""
    max_overlap = 0.01
    """Part of the time of one side that steps of the other may share: a process runs one at a
    time."""
    lasting = 3
    """Steps a level lasts that is worth mentioning."""
    apart = 1.1
    """Factor between the highest and the lowest level that is worth mentioning."""
    enough_plain = 10
    """Steps of one run a side that are judged instead of recorded ones."""
    min_steps_for_rank_test = 4
    """Steps a side needs before a rank test can reach ALPHA at all."""
    min_share = 0.01
    """Functions matter whose time changed by this part of a step."""
    narrow = 0.1
    """Steps are the same within noise where their change is within this part of their length."""


class WorkloadLimits(Limits):
    """`comparison.steps.workload`."""

    tolerance = 1.25
    """Calls per step differ when they do so by more than this factor."""
    host_tolerance = 3.0
    """The same for system calls and turns on a CPU, which depend on the load as well."""
    worth_a_remark = 1.1
    """Factor between the work per step of both sides from which on it is said."""
    exact = 0.01
    """Calls that are off from a whole number of times by less than this are as many."""
    same_program = 0.5
    """Share of the common functions that must agree on one ratio for both to be the same
    program."""
    max_functions = 1000
    """The ones that take longest are asked; a pair of each is looked at."""
    few_names = 3
    """Names that functions have at least before families alone decide."""
    min_time = 0.15
    """Part of the time that functions agreeing on one ratio hold at least."""
    max_share_unpaired = 0.5
    """Part of the time that one side may have in functions the other has not."""
    other_mix = 0.5
    """Share of the steps that are of another type on the other side."""
    unrecorded = 0.05
    """Part of the time in functions of one side alone from which on it is said."""
    agreeing = 0.75
    """Share of the functions that must agree, or the sides differ in more than how they are cut."""
    group_slack = 0.1
    """How far a ratio may be from a whole number, and a group from the number of steps it
    needs."""
    once = 1.5
    """Steps of a group that hold what is in one of them, at most; counted over the whole run."""
    long_gap = 5
    """A pause of this many steps separates what came before it from what comes behind."""


class TurnsLimits(Limits):
    """`comparison.turns`."""

    in_a_row = 3
    """So many failures of a side in order are no accident."""
    at_first = 2
    """So many where no run of the side has worked."""
    min_pairs = 3
    """Of fewer pairs the interval says nothing."""


class SnapshotChangeLimits(Limits):
    """`comparison.snapshots`: what allocators differ by between runs of one program."""

    min_share = 0.005
    """Part of the peak; choices of libraries between equal algorithms make less of a difference."""
    min_bytes = 2**20
    """Bytes: the smallest segment that an allocator takes of a device is twice that."""


class LogChangeLimits(Limits):
    """`comparison.collective_logs`."""

    alpha = 0.01
    """Chance that an operation is said to have changed that did not, of all operations together."""
    min_share = 0.05
    """Part of its time by which an operation has to change; runs of one program on the same hosts
    differ by less."""
    min_ns = 2000.0
    """Nanoseconds that an operation has to change by: logs count in microseconds."""
    min_late_ns = 200_000.0
    """Nanoseconds by which a rank has to become later; clocks of hosts agree to about so much."""
    stretches = 10
    """Parts of a log whose means are compared."""
    min_per_stretch = 4
    """Collectives of each part: of fewer a step that is cut weighs too much."""
