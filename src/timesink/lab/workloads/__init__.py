"""Programs to record: each runs alone with `python -m timesink.lab.workloads.NAME`.

They need PyTorch and nothing else, download nothing, and run on a CPU as well.  A fault in the code
is switched on by an environment variable (`switches`), so nothing in a recording but its effect
tells of it.
"""
