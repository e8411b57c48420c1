"""Options of `timesink ncu` as options of ncu."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from timesink.errors import UsageError
from timesink.recorder.ncu.plan import (
    ROOFLINE,
    UTILISATION,
    NcuPlan,
    command_line,
    import_commands,
    launch_picks,
    metrics_named,
    profile_command,
    shown_briefly,
)

PROGRAM = ("python", "train.py", "--name", "two words")


def words(version: tuple[int, ...] = (), **choices: object) -> list[str]:
    plan = NcuPlan(program=PROGRAM, **choices)  # type: ignore[arg-type]
    return profile_command("ncu", plan, Path("here/report.ncu-rep"), version)


def test_plain_run():
    assert command_line(words(metrics=("a.sum", "b.avg"))) == (
        "ncu -f -o here/report --target-processes all --clock-control none --cache-control all "
        "--metrics a.sum,b.avg python train.py --name 'two words'"
    )


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({"launches": (1000, 500)}, "--launch-skip 1000 --launch-count 500"),
        ({"launches": (1000, None)}, "--launch-skip 1000"),
        ({"launches": (0, 5)}, "--launch-skip 0 --launch-count 5"),
        ({"kernel": "gemm|conv"}, "--kernel-name 'regex:gemm|conv'"),
        ({"every": launch_picks(10)}, "--kernel-id ':::[0-9]*(1)'"),
        ({"every": launch_picks(10), "kernel": "gemm"}, "--kernel-id '::regex:gemm:[0-9]*(1)'"),
        ({"from_start": False}, "--profile-from-start off"),
        ({"clock_control": "base"}, "--clock-control base"),
        ({"cache_control": "none"}, "--cache-control none"),
    ],
)
def test_choices(choices: dict[str, object], expected: str):
    assert expected in shlex.join(words(**choices))


def test_no_launch_count_without_a_count():
    assert "--launch-count" not in words(launches=(10, None))


def test_colon_in_a_name_cannot_be_combined_with_every():
    assert "regex:at::native" in words(kernel="at::native")
    with pytest.raises(UsageError, match="colon"):
        words(kernel="at::native", every=launch_picks(7))


def test_code_of_kernels_is_left_out_where_nobody_wants_the_report():
    assert "--import-sass" in words((2025, 3, 1, 0))
    assert "--import-sass" not in words((2025, 3, 1, 0), keeps_report=True)
    assert "--import-sass" not in words((2022, 1))
    assert "--import-sass" not in words()


def test_percent_signs_are_no_macros():
    command = profile_command("ncu", NcuPlan(PROGRAM), Path("100%h/report.ncu-rep"))
    assert command[command.index("-o") + 1] == "100%%h/report"


def test_report_is_printed_with_the_metrics_and_the_device():
    commands = import_commands("ncu", Path("x.ncu-rep"), ("a.sum",))
    plain = "ncu --import x.ncu-rep --csv --page raw --metrics a.sum,device__attribute_display_name"
    assert [command_line(command) for command in commands] == [
        f"{plain} --rename-kernels off",
        plain,
    ]


def test_report_is_printed_with_all_it_holds_where_nothing_is_chosen():
    commands = import_commands("ncu", "x.ncu-rep")
    assert command_line(commands[-1]) == "ncu --import x.ncu-rep --csv --page raw"


def test_launches_are_not_all_shown_on_screen():
    command = words(every=launch_picks(7), kernel="a|b")
    assert len(command_line(command)) > 500
    assert shown_briefly(command) == (
        "ncu -f -o here/report --target-processes all --clock-control none --cache-control all "
        f"--kernel-id '::regex:a|b:1|8|15|...' --metrics {','.join(UTILISATION)} "
        "python train.py --name 'two words' (--dry-run shows it whole)"
    )


@pytest.mark.parametrize("every", [2, 10, 50])
def test_few_launches_are_shown(every: int):
    command = words(every=launch_picks(every))
    assert shown_briefly(command) == command_line(command)


def test_metric_sets():
    assert metrics_named("utilisation") == ("utilisation", UTILISATION)
    assert metrics_named("roofline") == ("roofline", ROOFLINE)
    assert metrics_named("b.avg, a.sum,b.avg") == (
        "custom",
        ("gpu__time_duration.sum", "b.avg", "a.sum"),
    )


@pytest.mark.parametrize("text", ["", "a,,b", "a b", "a;rm", "--csv"])
def test_what_is_no_metric(text: str):
    with pytest.raises(UsageError, match="neither a set"):
        metrics_named(text)


def test_filters_are_named_as_the_user_knows_them():
    plan = NcuPlan(PROGRAM, every=launch_picks(7), launches=(0, 1), kernel="x", from_start=False)
    assert plan.filters == ("--range", "--every", "--kernel", "--from-start no")
    assert NcuPlan(PROGRAM).filters == ()
