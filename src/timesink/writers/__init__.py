"""Traces to files: a Parquet folder, Chrome JSON."""
