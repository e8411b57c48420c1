"""Step times, functions and workload of two sides: what differs by more than noise.

Programs are compared in `compare/program`, and causes named in `compare/causes`.
"""
