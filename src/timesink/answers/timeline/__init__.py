"""The timeline of a trace behind the trace view: what is visible, what it is, where else it is."""
