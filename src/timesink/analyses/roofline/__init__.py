"""What the device could do at most, and how near each kernel comes."""
