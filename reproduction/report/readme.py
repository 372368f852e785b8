"""Puts the short form of Table 2 between two marks of a README."""

from __future__ import annotations

from pathlib import Path

from adasent.errors import ConfigError
from reproduction.render import Table, to_markdown
from reproduction.wording import dashed

BEGIN = "<!-- table2: made by python -m reproduction report -->"
END = "<!-- end of table2 -->"


def fill_readme(path: Path, table: Table) -> None:
    """Replace what stands between the marks.

    Raises
    ------
    ConfigError
        If the marks are not there, once each and in order.
    """
    text = path.read_text("utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in tail:
        raise ConfigError(
            f"expected {BEGIN} and then {END} once each in {path}; put them where the table is to "
            "stand"
        )
    path.write_text(f"{head}{BEGIN}\n{to_markdown(dashed(table))}{END}{tail}", "utf-8")
