"""Docstrings as the site shows them: what is returned in a sentence, names without Sphinx roles."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|mod|attr|meth|data):`~?([^`]+)`")
RETURNS = re.compile(r"\n(Returns|Yields)\n-+\n((?:.+\n?)+)")
SECTION = re.compile(r"\n\w[\w ]*\n---+\n|\Z")


class Plain(griffe.Extension):
    """Rewrites docstrings before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Of whatever has a docstring."""
        if obj.docstring is not None:
            obj.docstring.value = plain(obj.docstring.value)


def plain(text: str) -> str:
    """A docstring in Markdown."""
    text = ROLE.sub(lambda match: f"`{match[1].rsplit('.', 1)[-1]}`", text)
    if found := RETURNS.search(text):  # its text has no name, as the parser wants it to
        text = text.replace(found[0], "")
        start = SECTION.search(text).start()
        said = f"\n\n**{found[1]}:** {' '.join(found[2].split())}\n"
        text = text[:start].rstrip() + said + text[start:]
    return text.replace("``", "`")
