"""The `timesink` command: a file per subcommand, or for two that belong together.

What a command prints is built in `answers`; nothing here reads a recording itself.
"""

from timesink.cli.command_line import main, run_process

__all__ = ["main", "run_process"]
