"""All ranks of a run together: who waits for whom, who is late, and why."""
