"""What each operator computes and moves, and how near that is to what the device can do."""
