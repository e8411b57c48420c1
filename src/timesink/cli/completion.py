"""Print a shell completion script.

bash:  eval "$(timesink completion bash)"      in ~/.bashrc
zsh:   timesink completion zsh > ~/.zfunc/_timesink
tcsh:  timesink completion tcsh > ~/.timesink.tcsh, then source it
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")


def run(options: argparse.Namespace) -> int:
    import shtab  # noqa: PLC0415 - nothing else needs it

    from timesink.cli import build_parser  # noqa: PLC0415 - the parser knows this module

    print(shtab.complete(build_parser(), shell=options.shell))
    return 0
