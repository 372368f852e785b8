"""How any command line of ours behaves: errors and warnings as one line each, exit codes, --debug.

Importing this must stay quick.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import typer
from typer.core import TyperGroup

from adasent.errors import AdaSentError, AdaSentWarning

# Newer versions of typer carry a copy of click; this is UsageError in the copy or in click itself.
UsageError: type[Any] = typer.BadParameter.__bases__[0]

INTERRUPTED = 130  # what a shell reports for SIGINT


class _Root(TyperGroup):
    """Turns exceptions into one line on standard error and an exit code."""

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]
        words = list(sys.argv[1:] if args is None else args)
        if "--debug" in words:  # moved to the front, so that it works after a command's name too
            words = ["--debug", *(word for word in words if word != "--debug")]
        extra["standalone_mode"] = False
        try:
            # The code of an Exit is returned; commands themselves return nothing.
            sys.exit(super().main(words, **extra) or 0)
        except UsageError as error:
            if error.format_message():  # empty when help was shown for want of a command
                _say(f"error: {_usage(error)}")
            sys.exit(2)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        with warnings.catch_warnings():
            warnings.simplefilter("always", AdaSentWarning)
            warnings.showwarning = partial(_show_warning, cache(_say))  # each line once
            try:
                super().invoke(ctx)
                sys.stdout.flush()
            except KeyboardInterrupt:
                _say("interrupted")
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:
                raise  # the reader went away, as `head` does; typer ends quietly
            except (AdaSentError, OSError) as error:
                if ctx.params["debug"]:
                    traceback.print_exc()
                else:
                    _say(f"error: {_one_line(error)}")
                raise typer.Exit(1) from None


def _usage(error: Any) -> str:
    message = " ".join(error.format_message().split())
    command = error.ctx.command_path if error.ctx is not None else "adasent"
    return f"{message} See: {command} --help"


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and not isinstance(error, AdaSentError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _show_warning(
    say: Callable[[str], None],
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Stands in for ``warnings.showwarning``."""
    if issubclass(category, AdaSentWarning):
        say(f"warning: {message}")
    else:
        say(warnings.formatwarning(message, category, filename, lineno, line).rstrip())


def new_app() -> typer.Typer:
    """An empty command line; its callback must take ``debug``."""
    return typer.Typer(
        cls=_Root,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
