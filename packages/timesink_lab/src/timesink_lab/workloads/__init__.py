"""Programs to record: each runs alone with `python -m timesink_lab.workloads.NAME`.

They need PyTorch and nothing else, download nothing, and run on a CPU as well.
"""
