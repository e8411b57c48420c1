#!/bin/sh
# Fails a pipeline where a run became slower than another one.
#
#   gate.sh BASE NEW [RESULTS]
#
# BASE and NEW are what `timesink gate` takes: a recording, a folder of one per rank, or @NAME
# for BASE.  RESULTS is a folder: junit.xml and comment.md for the CI system, whole reports and
# tables for those who look.  Exit code: 0 passed, 3 failed, 1 not decided, 2 wrong usage.
#
# FAIL_ON   regression (any certain slow-down, the default), or a percentage such as 5%
# BUDGET    a TOML file with limits (default: ./budgets.toml, where there is one)
# UNDECIDED exit code where it is not decided, e.g. 0 to let it pass
# TIMESINK  how timesink is called, e.g. "python -m timesink"
set -u

if [ $# -lt 2 ]; then
    echo "usage: gate.sh BASE NEW [RESULTS]" >&2
    exit 2
fi
results=${3:-gate-results}
comment=$results/comment.md

# However it ends there is a comment of this run: that of an earlier one must not stay on a page.
finish() {
    code=$?
    mkdir -p "$results"
    [ -s "$comment" ] ||
        printf '## timesink: not decided\n\nSee the log of this run.\n' >"$comment"
    # The first line, which nobody sees, is how the next run finds the comment to replace.
    printf '<!-- timesink gate -->\n' | cat - "$comment" >"$comment.marked"
    mv "$comment.marked" "$comment"
    # GitHub shows this on the page of the run; other systems have no such file.
    [ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$comment" >>"$GITHUB_STEP_SUMMARY"
    exit $code
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# Whatever happens below, results of an earlier run are not those of this one.
rm -f "$comment" "$results/junit.xml" "$results/comparison.json"

# One comparison writes everything; the reason is on standard error, at the end of the log.
${TIMESINK:-timesink} gate "$1" "$2" \
    --fail-on "${FAIL_ON:-regression}" ${BUDGET:+--budget "$BUDGET"} \
    ${UNDECIDED:+--undecided "$UNDECIDED"} -o "$results" --force
