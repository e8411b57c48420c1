"""Memory: over time, by operator, block by block, and what is live at the peak."""
