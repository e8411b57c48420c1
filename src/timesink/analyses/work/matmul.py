"""Products of matrices: 2 M N K operations, M N more where a bias is added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments
from timesink.analyses.work.work import Formula, Work, moved


def matmul(call: CallArguments) -> Work | None:
    """`a` (M x K) times `b` (K x N), with `bias` where the row names one."""
    a, b = call.tensor("a"), call.tensor("b")
    if a is None or b is None or len(a.shape) != 2 or len(b.shape) != 2:
        return None
    (m, k), n = a.shape, b.shape[1]
    bias = call.tensor("bias")
    flop = 2.0 * m * n * k + (m * n if bias else 0)
    work = moved([a, b, bias], [a.sized(m, n)])
    return replace(work, matrix_flop=flop, precision=a.precision)


FORMULAS: Mapping[str, Formula] = {"matmul": matmul}
