"""`timesink analyze`: where the time of a run goes."""
