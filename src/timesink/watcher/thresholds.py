"""The numbers that decide alarms: unit, meaning, source.

A class holds the numbers of one file; a number without a unit in its name or text is a factor.
Chosen on docs/accuracy/watch.md: false alarms per day, and planted slowdowns that are noticed.
"""

from __future__ import annotations

from timesink.model.limits import Limits


class JudgedLimits(Limits):
    """`watcher.expected.judged`."""

    apart = 2
    """Steps between alarms of one episode."""


class LearnedLimits(Limits):
    """`watcher.expected.limits`."""

    busy_levels = 3
    """Levels of load, of equally many steps, that have a limit each."""
    min_in_group = 60
    """Steps from which on a group has a limit of its own."""
    min_beyond = 5
    """Steps beyond a limit that tell where it is; rarer ones are extrapolated."""
    tail = 40
    """Slowest steps from which the limit is extrapolated, at most."""
    level_cycles = 16
    """The first steps of a run that tell its own level."""
    level_share = 0.95
    """Of normal runs, that differ by no more."""
    odd_runs = 0.04
    """Of the runs learned from, that may have been slow themselves."""
    parts = 5
    """Parts of the runs that are left out in turn to check the limits."""
    min_slowdown = 0.02
    """Nobody is woken for less than two percent."""
    steps = 8
    """Steps after which a shift of twice the allowance is noticed."""
    clip = 4
    """Allowances one step counts for at most: a spike alone is nothing lasting."""


class LiveAlarmLimits(Limits):
    """`watcher.expected.live`."""

    lasts_s = 1.0
    """What is over sooner is told to nobody: it could not be recorded any more."""


class LiveRuleLimits(Limits):
    """`watcher.expected.live_limits`."""

    recent_cycles = 13
    """So many of the last steps are looked at, at most."""
    moment_s = 0.1
    """Of the last few steps, or of those of so long, a share is slow: few short ones are a
    moment."""
    telling = 4.0
    """Steps that scatter so many times as much as the calmest ones tell little one by one."""
    outlier = 12.0
    """A spike is as many spreads away at most: what was slow once, as a new size is, is no
    measure."""
    common = 0.05
    """Part of the steps from which on a group is common."""
    min_level = 1.5
    """A level is so many times the smallest shift that counts, at least."""
    some_bound = 8
    """Spreads at which one step is cut off where only some steps are slow."""
    shortest = 4.5
    """Fewer steps are nothing lasting, however quiet it was: what halts a program for once is
    rare."""
    correlated_rules = 3
    """Rules raise false alarms together: as many as so many that would not."""
    white = 2.0
    """Levels whose lag-1 correlation is below so many standard errors resemble the one before by
    chance."""
    max_autocorrelation = 0.95
    """Lag-1 autocorrelation that is believed at most: beyond it is a trend."""
    rare_level = 0.003
    """Chance of a level beyond the reach, by Student's t for as many levels as are independent."""
    farthest_level = 5.0
    """Times the scatter of levels that a reach is at most: of two or three levels nothing more
    is known."""
    excursion = 2.0
    """A level lasts for so many times as long as levels stay alike."""
    long_levels = 10
    """Stretches of learned steps, each as long as a tenth of them."""
    slow_from = 1.2
    """A rule for smaller shifts is worth having where they are smaller by so much."""
    many = 16
    """Blocks with spikes that tell how fast they become rarer."""
    block = 16
    """Steps of a block: spikes within one count once."""
    widest = 5.0
    """Spreads between which the limit of a single step is searched, at most."""
    min_in_group = 60
    """Steps from which on a group has a spread of its own."""
    min_point = 0.2
    """Factor of the starting limit down to which it is searched."""
    tail = 40
    """Slowest steps from which the limit is extrapolated, at most."""


class ModelLimits(Limits):
    """`watcher.expected.model`."""

    min_cycles = 50
    """Steps that a model is learned from at least."""
    gain = 0.95
    """Trees that are not nearer by a twentieth than the median of all are not worth their
    errors."""
    empty_factor = 5.0
    """An empty step takes less than a fifth of the shortest with work."""
    margin = 0.05
    """Part beyond the learned range of a feature at which a workload is still known."""
    max_levels = 32
    """Different values of a feature up to which each is a level."""
    cell = 0.3
    """Sides of a cell, as logarithms: batches and kv a third apart."""
    max_learned = 50_000
    """Steps trees are made of: more make them no better."""
    warm_block = 10
    """Steps of a block whose median shows whether a run is still warming up."""
    much_calmer = 2.0
    """Factor by which later steps scatter less than those of a warm-up."""


class TreesLimits(Limits):
    """`watcher.expected.trees`."""

    leaf_cycles = 10
    """What trees tell is of so many steps at least."""


class IncidentDeskLimits(Limits):
    """`watcher.incident_desk`."""

    calm_s = 10.0
    """Healthy steps are recorded so long after the last alarm at the soonest."""


class IncidentsLimits(Limits):
    """`watcher.incidents`."""

    first_cycles = 200
    """So many tell which workloads are common."""
    max_workload_ratio = 1.5
    """Workloads that differ by more than this factor are not alike."""
    same_s = 10.0
    """Alarms that follow each other so closely are one incident."""


class RecordingsLimits(Limits):
    """`watcher.recordings`."""

    together_s = 0.6
    """Ranks get so long to tell their steps and learn of an order before the step it begins
    with."""
    plain_s = 2.0
    """Steps without the profiler last so long at least: samplers of devices are slow."""


class SessionLimits(Limits):
    """`watcher.session`."""

    judges_s = 1.0
    """While all is usual; each time takes much longer than each step."""
    refines = 4
    """So many times `--learn` steps, and never fewer than at first, are learned from once more."""
    settles_s = 0.5
    """A program is not itself right after a recording."""
    silent_s = 30.0
    """A thread or process that made no step for so long is in no alarm any more."""
    no_cycle_s = 30.0
    """A program that made none by then is asked why."""


class LogWatchLimits(Limits):
    """`watcher.collective_logs`."""

    window = 50
    """Collectives of a group that are judged together."""
    min_windows = 2
    """Windows in a row that have to show the same change: one may be a pause of the program."""
    silent_s = 60.0
    """Seconds without a collective, where there were some before: the run may stand still."""
    silent_ratio = 20.0
    """Of the longest silence before, without those that were alarms: evaluation and checkpoints
    take their time."""
    max_open = 4096
    """Collectives that wait for ranks that have not logged them; the oldest is judged as it is."""
