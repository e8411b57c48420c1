"""What explains a change of cycle time: one rule per file, listed in `finding.py`."""
