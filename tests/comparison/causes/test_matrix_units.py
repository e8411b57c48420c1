"""Products of matrices that lost the matrix units of the device, or gained them."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from timesink.analyses.names import multiplies_matrices


@pytest.fixture(autouse=True)
def kept_recordings(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings are read once for all of these."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


def test_lost_tensor_cores_come_before_the_compiler_that_lost_them(shared_root: Path):
    """Two thirds of +46.6 ms are products on ordinary units."""
    sides = [shared_root / "data/hta/trace_diff" / name for name in ("control", "test")]
    answer = timesink.compare(*sides).to_dict()
    first, second, *_ = answer["causes"]
    assert first["cause"] == "precision_change"
    for words in ("no longer run", "11.1 ms → 0 ns", "1.77 → 32.8 ms"):
        assert words in first["sentence"]
    # The change is named for what it is: regions that torch.compile made, which replay graphs.
    assert second["cause"] == "compile_fallback"
    assert not {cause["cause"] for cause in answer["causes"]} & {"graph_capture"}


def test_what_multiplies_matrices():
    yes = ("volta_sgemm_128x32_nt", "nvjet_sm90_tst_64x8", "sm80_xmma_gemm_f32f32_f32f32_f32_nn")
    no = ("fbgemm_gpu::permute_2D_lengths_kernel<int>(int)", "void at::native::reduce_kernel<512>")
    assert all(map(multiplies_matrices, yes))
    assert not any(map(multiplies_matrices, no))
