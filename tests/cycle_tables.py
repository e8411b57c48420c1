"""Tables of made-up cycles whose law is known."""

from __future__ import annotations

import numpy as np
import polars as pl

BASE_US, PER_SEQUENCE_US, PER_TOKEN_US = 20_000.0, 100.0, 0.2


def cycle_rows(runs: int = 24, cycles: int = 60, *, noise: float = 0.005, seed: int = 1):
    """Runs of serving, each with one batch size, whose sequences grow by a token per cycle."""
    random = np.random.default_rng(seed)
    parts = []
    for run in range(runs):
        batch, input_length = (
            float(random.choice([4, 8, 16, 24, 32])),
            float(random.choice([128, 256])),
        )
        output_lengths = np.arange(cycles) + float(random.integers(1, 50))
        usual = (
            BASE_US
            + PER_SEQUENCE_US * batch
            + PER_TOKEN_US * batch * (input_length + output_lengths)
        )
        parts.append(
            pl.DataFrame(
                {
                    "job_name": f"run{run:02}",
                    "start_ts": 1e15 + run * 1e9 + np.arange(cycles) * 5e4,
                    "duration_us": usual * np.exp(noise * random.standard_normal(cycles)),
                    "batch_size": batch,
                    "avg_input_length": input_length,
                    "avg_output_length": output_lengths,
                }
            )
        )
    return pl.concat(parts)
