"""The part of the recorder that lives in the program: it counts cycles and drives the profiler.

Only the standard library and the program's torch may be imported; nothing may end the program.
"""
