"""What a report is made of: sections of prose, points, tables, pictures and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reproduction.render import Table


@dataclass(frozen=True)
class Prose:
    """A paragraph; words between backticks are code."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Lines for a terminal."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A figure: the data it is drawn from, and what there is to see."""

    data: Mapping[str, Any]
    caption: str

    @property
    def name(self) -> str:
        """Of its file."""
        return str(self.data["figure"])


Block = Prose | Points | Code | Picture | Table


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Report:
    """The whole of it; the first paragraph stands before the first section."""

    title: str
    opening: str
    sections: tuple[Section, ...]

    def pictures(self) -> list[Picture]:
        """In order."""
        return [
            block
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Picture)
        ]
