#!/bin/sh
# Fails a pipeline where a run became slower than another one.
#
#   gate.sh BASE NEW [RESULTS]
#
# BASE and NEW are what `timesink compare` takes: a recording, a folder of one per rank, or @NAME
# for BASE.  RESULTS is a folder: junit.xml and comment.md for the CI system, whole reports and
# tables for those who look.  Exit code: 0 passed, 3 slower, 1 cannot be judged, 2 wrong usage.
#
# FAIL_ON   regression (any certain slow-down, the default), or a percentage such as 5%
# BUDGET    a TOML file with limits of operators, modules and kernels
# TIMESINK  how timesink is called, e.g. "python -m timesink"
set -u

if [ $# -lt 2 ]; then
    echo "usage: gate.sh BASE NEW [RESULTS]" >&2
    exit 2
fi
results=${3:-gate-results}

# Whatever happens below, results of an earlier run are not those of this one.
rm -f "$results/comment.md" "$results/junit.xml"

# One comparison writes everything; the reason is on standard error, at the end of the log.
${TIMESINK:-timesink} compare "$1" "$2" \
    --fail-on "${FAIL_ON:-regression}" ${BUDGET:+--budget "$BUDGET"} \
    -o "$results" --force
code=$?

# GitHub shows this on the page of the run; other systems have no such file.
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$results/comment.md" ]; then
    cat "$results/comment.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit $code
