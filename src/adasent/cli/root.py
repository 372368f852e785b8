"""How any command line of ours behaves: errors and warnings as one line each, exit codes, --debug.

Importing this must stay quick.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from adasent.cli.console import harmless
from adasent.errors import AdaSentError, AdaSentWarning, on_a_command_line
from adasent.text.unpacking import UNPACK_ALL

# Newer versions of typer carry a copy of click; this is UsageError in the copy or in click itself.
UsageError: type[Any] = typer.BadParameter.__bases__[0]

_Function = TypeVar("_Function", bound=Callable[..., Any])

INTERRUPTED = 130  # what a shell reports for SIGINT


#: Options of the whole command line.
_ANYWHERE = ("--debug", "--unpack-all")
#: What stands for a value in help where the option does not say.
_VALUES = {"int": "N", "float": "X", "str": "TEXT", "path": "PATH"}


class _PlainHelp:
    """Makes help show what a user types: no types of Python, no braces."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "argument":
                param.display_type_rich = lambda ctx: None  # the name says it; newer typers ask
            elif getattr(param, "is_flag", False):
                param.metavar = ""
            elif param.metavar is None:
                kind = getattr(param, "display_type", lambda ctx: "")(ctx).strip("<>")
                param.metavar = _VALUES.get(kind.split()[0] if kind else "", kind or None)
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.translate({ord("{"): None, ord("}"): None}) for piece in pieces]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _explain_settings(self.get_params(ctx))
        super().format_help(ctx, formatter)  # type: ignore[misc]


class Command(_PlainHelp, TyperCommand):
    """A command with that help."""


class Group(_PlainHelp, TyperGroup):
    """A group of commands with that help."""


def _explain_settings(params: Sequence[Any]) -> None:
    """Give options that are settings of a system the line that the system says of them."""
    from adasent.cli.options import OF_SETTING
    from adasent.estimators.settings import settings_of

    for param in params:
        if getattr(param, "help", None) == OF_SETTING:
            param.help = f"{settings_of('adasent')[param.name].help}."


class Commands(typer.Typer):
    """Groups and commands with that help."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**({"cls": Group} | how))

    def command(self, name: str | None = None, **how: Any) -> Callable[[_Function], _Function]:
        return super().command(name, **({"cls": Command} | how))


class _Root(Group):
    """Turns exceptions into one line on standard error and an exit code."""

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]
        words = list(sys.argv[1:] if args is None else args)
        for own in _ANYWHERE:
            if own in words:  # moved to the front, so that it works after a command's name too
                words = [own, *(word for word in words if word != own)]
        extra["standalone_mode"] = False
        try:
            # The code of an Exit is returned; commands themselves return nothing.
            sys.exit(super().main(words, **extra) or 0)
        except UsageError as error:
            if error.format_message():  # empty when help was shown for want of a command
                _say(f"error: {_usage(error)}")
            sys.exit(2)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        everything = ctx.params.get("unpack_all", False)
        with on_a_command_line(), warnings.catch_warnings(), _unpacking(everything=everything):
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
                    _say(traceback.format_exc().rstrip())
                else:
                    _say(f"error: {_one_line(error)}")
                raise typer.Exit(1) from None


@contextmanager
def _unpacking(*, everything: bool) -> Iterator[None]:
    """For this process, and those that it starts, lift what bounds the size of archives."""
    before = os.environ.get(UNPACK_ALL)
    if everything:
        os.environ[UNPACK_ALL] = "1"
    try:
        yield
    finally:
        if everything:
            os.environ.pop(UNPACK_ALL)
            os.environ |= {} if before is None else {UNPACK_ALL: before}


def _usage(error: Any) -> str:
    message = " ".join(error.format_message().split())
    command = error.ctx.command_path if error.ctx is not None else "adasent"
    return f"{message} See: {command} --help"


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and not isinstance(error, AdaSentError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


def _say(line: str) -> None:
    print(harmless(line), file=sys.stderr)


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


def new_app(*, add_completion: bool = False) -> typer.Typer:
    """An empty command line; its callback must take ``debug``."""
    return Commands(
        cls=_Root,
        no_args_is_help=True,
        add_completion=add_completion,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
