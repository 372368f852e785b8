"""A report in, Markdown out; pictures are linked by name."""

from __future__ import annotations

from reproduction import render
from reproduction.report.blocks import Block, Code, Picture, Points, Prose, Report


def to_markdown(report: Report, pictures: str = "pictures") -> str:
    """The report as Markdown.

    Parameters
    ----------
    pictures
        Folder of the pictures, seen from the report's own: ``NAME.svg`` each.
    """
    parts = [f"# {report.title}", report.opening]
    for section in report.sections:
        parts.append(f"## {section.title}")
        parts += [_block(block, pictures) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block, pictures: str) -> str:
    if isinstance(block, Prose):
        return block.text
    if isinstance(block, Points):
        return "\n".join(f"- {item}" for item in block.items)
    if isinstance(block, Code):
        return f"```sh\n{block.text}\n```"
    if isinstance(block, Picture):
        # The caption stands below as text, so that the picture's own is only its name.
        return f"![{block.name}]({pictures}/{block.name}.svg)\n\n{block.caption}"
    return render.to_markdown(block).rstrip("\n")
