"""What ranks wrote of their collectives without a profiler: one row per call and rank, no timeline.

`flight_recorder` reads dumps of PyTorch, `inspector` those of NCCL's plugin, `folder` many of them.
"""
