"""Formulas that users add: functions, and files that are read without running anything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import timesink
from timesink.analyses.work.arguments import CallArguments, parse_inputs
from timesink.analyses.work.formulas import REGISTERED, formula_of, work_of
from timesink.analyses.work.own_formulas import load_formulas
from timesink.errors import TimesinkError, UnreadableError, UsageError

FFN = """
[operators."mylib::fused_ffn"]
tensors = { x = 0, w1 = 1, w2 = 2 }
matrix_flop = "2 * x[0] * x[1] * w1[1] + 2 * x[0] * w1[1] * w2[1]"
read = ["x", "w1", "w2"]
written_bytes = "x[0] * w2[-1] * size(x)"
family = "matmul"
"""
TYPES = '["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]'


def call(name: str = "mylib::fused_ffn", dims: str = "[[4, 8], [8, 16], [16, 8]]") -> CallArguments:
    return CallArguments(name, parse_inputs(dims, TYPES), ("", "", "", "3"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "own.toml"


@pytest.fixture
def clean_registry():
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)
    formula_of.cache_clear()


def test_a_file_tells_the_work_of_an_operator(file: Path):
    file.write_text(FFN)
    formulas = load_formulas(file)
    work = work_of(call(), formulas)
    assert work == timesink.Work(
        matrix_flop=2 * 4 * 8 * 16 + 2 * 4 * 16 * 8,
        precision="bf16",
        read_bytes=2 * (32 + 128 + 128),
        written_bytes=2 * 32,
    )
    assert formula_of("mylib::fused_ffn", formulas).family == "matmul"
    assert work_of(call()) is None


@pytest.mark.usefixtures("clean_registry")
def test_the_documented_file_and_function_agree(file: Path):
    page = Path(__file__).parents[3] / "docs" / "efficiency_formulas.md"
    toml, python = re.findall(r"```(?:toml|python)\n(.*?)```", page.read_text(), re.DOTALL)
    file.write_text(toml)
    exec(python, {})  # noqa: S102 - our own page
    assert work_of(call(), load_formulas(file)) == work_of(call())


def test_a_file_goes_before_what_is_known_and_may_hold_patterns(file: Path):
    file.write_text('[operators."aten::m*"]\ntensors = {x = 0}\nvector_flop = "numel(x)"\n')
    formulas = load_formulas(file)
    assert work_of(call("aten::mm"), formulas).vector_flop == 32
    assert work_of(call("aten::mm")).vector_flop == 0


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 ** 3 // 3 % 2 + 7 / 2 - 1", 2.5),
        ("min(x[0], w[0]) * max(1, k, 2)", 12),
        ("-(-numel(x)) * size(x)", 64),
        ("x[7]", None),
        ("1 / (k - 3)", None),
        ("(0 - 1) ** 0.5", None),
        ("9 ** 9 ** 9 ** 9 ** 9", None),
        ("0 - 5", None),
        ("1e999", None),
        ("-" * 399 + "1", None),
    ],
)
def test_expressions(file: Path, expression: str, value: float | None):
    rest = "tensors = {x = 0, w = 1}\nnumbers = {k = 3}"
    file.write_text(f'[operators."mylib::op"]\n{rest}\nvector_flop = "{expression}"\n')
    work = work_of(call("mylib::op"), load_formulas(file))
    assert (work and work.vector_flop) == value


@pytest.mark.parametrize("dims", ["[]", "[[4, 8]]", "[[], [], []]", "[[4], [8], [16]]"])
def test_calls_without_what_it_names_have_no_figure(file: Path, dims: str):
    file.write_text(FFN)
    assert work_of(call(dims=dims), load_formulas(file)) is None


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "x.__class__",
        "(lambda: 1)()",
        "[1 for i in x]",
        "open('/etc/passwd')",
        "x if x else 1",
        "y[0]",
        "x",
        "x[0:2]",
        "x[x[0]]",
        "min(1)",
        "size(3)",
        "min(*x)",
        "'a' * 9",
        "1; 2",
        "1 +",
        "x := 3",
        "9" * 400,
        "(" * 250 + "1" + ")" * 100,
        "1 + " * 200 + "1",
        "",
    ],
)
def test_hostile_expressions_are_refused(file: Path, expression: str):
    file.write_text(f'[operators."a::b"]\ntensors = {{x = 0}}\nmatrix_flop = "{expression}"\n')
    with pytest.raises(UsageError, match=r"own\.toml: a::b: .?matrix_flop") as error:
        load_formulas(file)
    assert "efficiency_formulas" in error.value.hint


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("", "nothing"),
        ("= 3", "no TOML"),
        ("[other]\nx = 1", "[other]"),
        ('[operators]\n"a::b" = 3', "a::b: is no table"),
        ('[operators."a::b"]\nvector_flop = 1', "needs  tensors"),
        ('[operators."a::b"]\ntensors = {x = 0}', "has neither operations nor bytes"),
        ('[operators."a::b"]\ntensors = {x = -1}\nvector_flop = 1', "position"),
        ('[operators."a::b"]\ntensors = {min = 1}\nvector_flop = 1', "'min' cannot name"),
        ('[operators."a::b"]\ntensors = {x = 0}\nnumbers = {x = 1}\nread = ["x"]', "both a tensor"),
        ('[operators."a::b"]\ntensors = {x = 0}\nread = ["y"]', "'read' must be"),
        ('[operators."a::b"]\ntensors = {x = 0}\nread = [["x"]]', "'read' must be"),
        ('[operators."a::b"]\ntensors = {x = 0}\nread = ["x"]\nread_bytes = 1', "has both"),
        ('[operators."a::b"]\ntensors = {x = 0}\nflops = 1', "'flops' is none of"),
        ('[operators."a::b"]\ntensors = {x = 0}\nvector_flop = true', "must be an expression"),
        ('[operators."a::b"]\ntensors = {x = 0}\nwhole = "yes"\nread = ["x"]', "true or false"),
    ],
)
def test_what_is_no_file_of_formulas_is_refused(file: Path, text: str, clause: str):
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        load_formulas(file)
    assert str(file) in error.value.message
    assert clause in error.value.message


def test_a_file_that_is_not_there(file: Path):
    with pytest.raises(UnreadableError, match="no such file"):
        load_formulas(file)


@pytest.mark.usefixtures("clean_registry")
class TestFunctions:
    def test_a_function_tells_the_work(self):
        assert work_of(call("mylib::new")) is None

        @timesink.formula("mylib::*", family="mine", whole=True)
        def scale(arguments: CallArguments) -> timesink.Work:
            return timesink.Work(vector_flop=arguments.tensor(0).elements)

        assert work_of(call("mylib::new")).vector_flop == 32
        row = formula_of("mylib::new")
        assert (row.family, row.covers_calls) == ("mine", True)

    def test_it_goes_before_what_is_known(self):
        timesink.formula("aten::mm")(lambda _: timesink.Work(vector_flop=7))
        assert work_of(call("aten::mm")).flop == 7

    @pytest.mark.parametrize("function", [lambda _: 3, lambda arguments: arguments.tensor(9).shape])
    def test_one_that_fails_is_named(self, function):
        timesink.formula("mylib::bad")(function)
        with pytest.raises(TimesinkError, match="formula of mylib::bad"):
            work_of(call("mylib::bad"))
