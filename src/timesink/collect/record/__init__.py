"""Recording a program while it runs: its timeline with torch.profiler, counters beside it.

Two sides meet in a hidden folder of the recording.  The *agent* lives in the program: it counts
cycles, switches the profiler on and off, and writes down what it did.  The *recorder* lives in a
process of its own: it samples counters, and makes the recording of what both have left, however
the program ended.  Only the standard library is used, and torch where the program has it.
"""
