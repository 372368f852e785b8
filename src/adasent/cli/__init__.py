"""The command ``adasent``: one file a command; only these files print."""

from __future__ import annotations

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line with the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what its encoding has no place for is an escape
            stream.reconfigure(errors="backslashreplace")
    try:
        from adasent.cli.app import app

        app(prog_name="adasent")  # also for python -m adasent: in hints, and for completion
    except KeyboardInterrupt:  # before a command has begun, or while it ends
        print("interrupted", file=sys.stderr)
        sys.exit(130)
