"""The code of the documentation: from a page to its blocks, and from a block to its commands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

#: Languages of blocks that a reader types, and of those that only show something.
TYPED = ("sh", "console", "python")
SHOWN = ("", "text")

_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.M | re.S)


@dataclass
class Command:
    """A line that a reader types into a shell, and what the page shows of its output."""

    text: str
    shown: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes
    ----------
    line
        Where its first line is, from 1.
    """

    page: str
    line: int
    language: str
    body: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @cached_property
    def commands(self) -> list[Command]:
        """Of ``sh``, every line; of ``console``, those after a dollar sign, with what follows."""
        found: list[Command] = []
        if self.language not in ("sh", "console"):
            return found
        for line in self.body.replace("\\\n", " ").splitlines():
            if self.language == "console" and not line.startswith("$ "):
                if found and line.strip():
                    found[-1].shown.append(line)
                continue
            text = re.sub(r"(?:^|\s+)#.*", "", line.removeprefix("$ ")).strip()
            if text:
                found.append(Command(" ".join(text.split())))
        return found


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page.name, text.count("\n", 0, found.start()) + 2, found[2], dedent(found[3]))
        for found in _BLOCK.finditer(text)
    ]
