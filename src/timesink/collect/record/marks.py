"""Names of what the recorder puts into a timeline."""

from __future__ import annotations

STEP_MARK = "timesink cycle "
"""One per cycle, while the program runs: a profiler of its own may mark steps too."""

SHOWN_STEP_MARK = "ProfilerStep#"
"""What it becomes in the recording: what torch.profiler calls its steps."""

OTHER_STEP_MARK = "own profiler step "
"""What steps become that the program's own profiler has marked."""

CLOCK_MARK = "timesink clock "
"""Short marks whose time is known on the counters' clock too; taken out of the recording."""

CUT_MARK = "unfinished cycle"
"""What the mark of a cycle becomes that the recording broke off in."""
