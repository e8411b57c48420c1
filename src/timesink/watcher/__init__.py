"""The process beside a program that is watched: it learns, judges, records and compares."""
