"""The command ``adasent``: one file a command; only these files print."""

from __future__ import annotations


def main() -> None:
    """Run the command line with the arguments of the process."""
    from adasent.cli.app import app

    app()
