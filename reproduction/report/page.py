"""Markdown to one HTML page that needs no other file."""

from __future__ import annotations

import base64
import html
import re
from importlib import resources
from itertools import pairwise
from pathlib import Path

from adasent.errors import require


def to_html(markdown: str, folder: Path | None = None) -> str:
    """The page, with a table of contents out of its second-level headings.

    Parameters
    ----------
    folder
        Where the pictures that the text links to lie; they are put into the page. None leaves the
        links as they are.
    """
    require("markdown_it", "reproduction", "writing the report as HTML")
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(markdown)
    title, contents = "", []
    for heading, words in pairwise(tokens):
        if heading.type == "heading_open" and heading.tag == "h1":
            title = words.content
        elif heading.type == "heading_open" and heading.tag == "h2":
            anchor = re.sub(r"[^a-z0-9]+", "-", words.content.lower()).strip("-")
            heading.attrSet("id", anchor)
            contents.append(f'<li><a href="#{anchor}">{html.escape(words.content)}</a></li>')
        for child in heading.children or []:
            if child.type == "image" and folder is not None:
                child.attrSet("src", _embedded(folder / str(child.attrs["src"])))
    style = resources.files("reproduction.report").joinpath("page.css").read_text("utf-8")
    body: str = parser.renderer.render(tokens, parser.options, {})
    body = body.replace("<table>", '<div class="wide"><table>').replace(
        "</table>", "</table></div>"
    )
    body = body.replace("</h1>", f"</h1>\n<nav><ol>{''.join(contents)}</ol></nav>", 1)
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{style}</style></head>\n"
        f"<body>\n{body}</body>\n</html>\n"
    )


def _embedded(path: Path) -> str:
    # As an image, so that names inside two pictures cannot clash.
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
