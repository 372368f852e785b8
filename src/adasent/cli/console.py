"""Where the commands write: plain text into pipes, tables and bars on terminals."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, Literal
from unicodedata import category

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.segment import Segment
    from rich.table import Table

# Wide enough that no row of our tables is wrapped where nobody looks at a screen.
_PIPE_WIDTH = 200
# What lines of ours hold beside text; kept apart by the group.
_BREAKS = re.compile("([\n\t])")


def console(*, stderr: bool = False) -> Console:
    """A rich console on the present standard output or error; no markup, no guessed colours.

    What comes out of files cannot steer the terminal, however it is printed.
    """
    from rich.console import Console

    class Screen(Console):
        def render(self, *args: Any, **how: Any) -> Iterator[Segment]:
            for one in super().render(*args, **how):
                yield one if one.control else one._replace(text=harmless(one.text))

    made = Screen(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _PIPE_WIDTH
    return made


def say(text: str = "") -> None:
    """Print results; long lines are left to the terminal to wrap, and nothing in them steers it."""
    print(harmless(text))


def harmless(text: str) -> str:
    """Lines of a text, each :func:`printable`; tabs stay too."""
    if text.isprintable():
        return text
    return "".join(part if part in "\n\t" else printable(part) for part in _BREAKS.split(text))


class Terminal(io.RawIOBase):
    """Whole characters of UTF-8, on their way to a terminal that they cannot steer."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: Any) -> int:
        """Pass them on, harmless."""
        self._stream.write(harmless(bytes(data).decode()).encode())
        return len(data)

    def flush(self) -> None:
        """Pass that on too."""
        self._stream.flush()


def printable(text: str) -> str:
    """A text that cannot steer a terminal: control characters, and halves of others, as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or _is_harmless(c) else _escape(c) for c in text)


def _is_harmless(character: str) -> bool:
    """Other spaces than the usual one, and what joins parts of emoji and of some scripts."""
    return category(character) == "Zs" or character in "\u200c\u200d"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def table(*columns: str) -> Table:
    """A table without frames; a column whose title starts with ``>`` is aligned to the right.

    What stands in its cells as a string cannot steer the terminal.
    """
    from rich import box
    from rich.table import Table

    class Plain(Table):
        def add_row(self, *cells: Any, **how: Any) -> None:
            super().add_row(
                *(printable(one) if isinstance(one, str) else one for one in cells), **how
            )

    made = Plain(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        side: Literal["left", "right"] = "right" if column.startswith(">") else "left"
        made.add_column(printable(column.removeprefix(">")), justify=side, overflow="fold")
    return made


def progress(console: Console, unit: str | None = None, *, quiet: bool = False) -> Progress:
    """A bar with an estimate, gone when done; nothing is drawn without a terminal.

    The unit says what is counted, for a rate beside the bar; None shows no rate.
    """
    from rich import progress as rich
    from rich.text import Text

    class Rate(rich.ProgressColumn):
        def render(self, task: rich.Task) -> Text:
            return Text(f"{task.speed:,.0f} {unit}/s" if unit and task.speed else "")

    return rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        Rate(),
        rich.TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
