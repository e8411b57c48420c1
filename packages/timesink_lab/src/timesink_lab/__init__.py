"""A test bench: programs with faults put in on purpose, recorded and then diagnosed.

`workloads` and `loads` are programs of their own (PyTorch and the standard library), `faults` says
what each fault is and what should be said about it, `driver` records, `score` judges.
All but the last work where only PyTorch and the standard library are installed.
"""
