"""Two runs side by side: matching calls, and what each operator adds to the difference."""
