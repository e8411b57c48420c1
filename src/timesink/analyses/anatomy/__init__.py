"""What the time of a cycle is made of: parts that add up, places in the cycle, counters."""
