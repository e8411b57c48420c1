"""Which ranks of a run are alike, and what sets the odd ones apart."""
