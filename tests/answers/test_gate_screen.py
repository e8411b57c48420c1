"""Why a gate does not pass, on one screen."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from diagnosed import clock_cause, slow_clock
from gated import failed_gate, gate_check
from timesink.answers.comparison.gate import screen


def lines_of(text: str) -> list[str]:
    """What fits one screen; a command is one line, which a terminal shows in several rows."""
    lines = text.splitlines()
    assert sum(-(-cell_len(line) // 80) or 1 for line in lines) <= 24
    sized_lines = lines[:-1] if "Reproduce" in lines else lines
    assert max(map(cell_len, sized_lines)) <= 80
    return lines


def test_it_says_what_failed_why_and_how_to_see_it_again():
    lines = lines_of(screen(failed_gate(why=slow_clock())))
    assert lines[0] == "timesink: FAILED (limit 5 %): base vs new: Cycles take longer."
    assert "Cause" in lines
    assert "What to do" in lines
    assert lines[-1] == "  timesink compare base new --fail-on 5%"


def test_there_are_no_colours():
    assert "\x1b" not in screen(failed_gate(subject="\x1b[31mred", why=slow_clock()))


def test_what_matters_least_goes_first_where_there_is_no_room():
    checks = [
        gate_check("budget", str(n), "failed", f"budget {n}: " + "far " * 60) for n in range(9)
    ]
    cause = clock_cause(sentence="kernels take longer " * 30)
    lines = lines_of(screen(failed_gate(checks=tuple(checks), why=slow_clock(causes=(cause,)))))
    assert lines[0].startswith("timesink: FAILED (limit 5 %): base vs new: budget 0: far")
    assert "Reproduce" in lines
    assert "Where the change is, per step" not in lines


def test_a_pass_is_told_in_a_few_lines():
    check = gate_check("cycle time", "cycle time", "passed", "Cycle time is the same.")
    passed_check = gate_check("budget", "cycle max", "passed", "")
    gate = failed_gate(
        checks=(check, passed_check), unseen="Changes below about 4 % cannot be seen."
    )
    assert lines_of(screen(gate)) == [
        "timesink: passed (limit 5 %): base vs new: Cycle time is the same.",
        "  1 budget kept.",
        "  Changes below about 4 % cannot be seen.",
    ]


def test_what_cannot_be_judged_says_so():
    text = "The steps of the two runs do not do the same work."
    check = gate_check("cycle time", "cycle time", "unjudged", text)
    lines = lines_of(screen(failed_gate(checks=(check,))))
    assert lines[0].startswith("timesink: NOT DECIDED (limit 5 %)")


@given(st.text(max_size=2000), st.lists(st.text(min_size=1, max_size=300), max_size=4))
def test_it_fits_whatever_names_there_are(text: str, paths: list[str]):
    check = gate_check("cycle time", "cycle time", "failed", text)
    why = slow_clock(causes=(clock_cause(sentence=text, advice=text),))
    command = ("timesink", "compare", *paths)
    lines_of(screen(failed_gate(subject=text, checks=(check,) * 3, why=why, command=command)))


@pytest.mark.parametrize("word", ["short", "a b", "x" * 300, "it's " * 40, "$HOME `id` " * 20])
def test_a_command_can_be_copied_whatever_its_length(word: str):
    words = ("printf", "%s|", "a", word, "c")
    text = screen(failed_gate(why=slow_clock(), command=words))
    lines_of(text)
    done = subprocess.run(["sh", "-c", text.splitlines()[-1]], capture_output=True, check=True)
    assert done.stdout.decode() == f"a|{word}|c|"


def test_a_command_that_cannot_be_copied_is_left_out():
    for path in ("x" * 4000, "a\x1b[31mb"):
        gate = failed_gate(command=("timesink", "compare", path))
        assert "Reproduce" not in lines_of(screen(gate))


def test_what_made_cycles_shorter_is_no_reason_to_fail():
    helped = clock_cause(cause="kernel_change", explained_ns=-5e6, advice="Thank whoever did it.")
    text = screen(failed_gate(why=slow_clock(causes=(helped, clock_cause()))))
    assert "Cause\n  GPU clock, +" in text
    assert "Thank" not in text
    assert "No cause" not in text


def test_a_budget_that_fails_has_a_cause_where_cycles_are_not_certainly_longer():
    gate = failed_gate(why=slow_clock(verdict="no_change"))
    lines = lines_of(screen(gate))
    assert "Cause" in lines
    assert "Where the change is, per step" not in lines


def test_what_to_look_at_is_said_once():
    advice = (
        "See who else is there (`pmon -c 1`) and move one.",
        "See who else is there (`pmon`).",
    )
    why = slow_clock(causes=tuple(clock_cause(advice=advice_text) for advice_text in advice))
    assert screen(failed_gate(why=why)).count("See who else is there") == 1


def test_what_no_cause_explains_is_said_beside_the_first():
    why = slow_clock(unexplained_ns=9e6, unexplained=(("host_cpu", 9e6),))
    lines = lines_of(screen(failed_gate(why=why)))
    assert "  Unexplained: +9.00 ms per step, in host code (+9.00 ms)." in lines


def test_how_many_more_causes_made_cycles_longer():
    text = screen(failed_gate(why=slow_clock(causes=(clock_cause(), clock_cause()))))
    assert "Causes (2)\n" in text


def test_causes_and_what_they_leave_add_up():
    faster = clock_cause(explained_ns=-1e6, interval_ns=None)
    causes = (clock_cause(interval_ns=None), clock_cause(interval_ns=None), faster)
    why = slow_clock(causes=causes, unexplained_ns=9e6, unexplained=(("host_cpu", 8e6),))
    text = " ".join(screen(failed_gate(why=why)).split())
    assert "Other causes, per step: GPU clock +5.30 ms, GPU clock -1.00 ms." in text
    assert (
        "Unexplained: +9.00 ms per step, in host code (+8.00 ms), other parts (+1.00 ms)." in text
    )
    assert "Sum: +5.30 ms +5.30 ms -1.00 ms +9.00 ms = +18.6 ms per step." in text
