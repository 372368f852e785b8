"""Lone surrogates, halves of characters, as other things than Python can take them.

A Python string may hold them and a model keeps them, but UTF-8 has no place for them. A text that
has them becomes one without: of the same length to be read, or with escapes to be written.
"""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udfff]")


def readable(text: str) -> str:
    """With U+FFFD for each half, for tokenizers of other libraries; places stay as they are."""
    return _HALF.sub("\ufffd", text)


def writable(text: str) -> str:
    """With the escape of each half, such as ``\\ud800``, for files in UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
