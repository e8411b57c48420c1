"""The version of the package: what notes, baselines and requests are marked with."""

__version__ = "0.1.0"
