"""A page of the docs and a table in; the page with the table between its marks out."""

from __future__ import annotations


def put_between_marks(page: str, name: str, script: str, text: str) -> str:
    """Replace what stands between the marks of a table.

    Parameters
    ----------
    name, script
        Of the table, and the script that makes it; the first mark names both.
    """
    begin, end = f"<!-- {name}: made by benchmarks/{script} -->", f"<!-- end of {name} -->"
    if begin not in page or end not in page:
        raise ValueError(f"expected {begin} and {end} in the page; put them back")
    head, rest = page.split(begin)
    return f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def markdown(header: list[str], body: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
