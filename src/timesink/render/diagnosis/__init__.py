"""Why runs or cycles differ, for people."""
