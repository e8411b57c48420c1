"""Programs that load a machine: each runs alone with `python -m timesink.lab.loads.NAME`.

They run until they are ended, or until whoever started them is gone.  None of them touches clocks,
power limits or modes of a device.
"""
