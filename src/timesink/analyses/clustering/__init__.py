"""Many processes beside each other: which behave alike, and who stands for each group."""
