"""A report in, one HTML page out that needs nothing else: style and pictures are inside it."""

from __future__ import annotations

import base64
import html
import re

from reproduction import render
from reproduction.plots import svg
from reproduction.report.blocks import Block, Code, Picture, Points, Prose, Report

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --back: #fff;
        --shade: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --back: #0d1117; --shade: #161b22; }
}
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 70rem; color: var(--ink);
       background: var(--back); font: 16px/1.55 system-ui, sans-serif; }
h1 { line-height: 1.2; } h2 { margin-top: 2.6rem; border-bottom: 1px solid var(--line); }
p, li { max-width: 46rem; }
nav ol { columns: 2 16rem; color: var(--soft); } a { color: inherit; }
code, pre { font: 0.9em/1.5 ui-monospace, monospace; background: var(--shade); border-radius: 4px; }
code { padding: 0.1em 0.3em; } pre { padding: 0.8rem 1rem; overflow-x: auto; }
pre code { padding: 0; }
figure { margin: 1.6rem 0; overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.8rem; font-variant-numeric: tabular-nums;
        white-space: nowrap; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.4rem; }
th, td { padding: 0.2rem 0.4rem; text-align: right; border-bottom: 1px solid var(--line); }
thead th { border-bottom: 2px solid var(--soft); white-space: normal; vertical-align: bottom; }
 th:first-child { text-align: left; }
tbody th { font-weight: 400; }
.words td { text-align: left; white-space: normal; vertical-align: top; }
.words th { text-align: left; vertical-align: top; white-space: normal; min-width: 9rem; }
figcaption, figcaption p { color: var(--soft); font-size: 0.88rem; max-width: 46rem; }
img { max-width: 100%; background: #fff; border-radius: 4px; }
""".strip()


def to_html(report: Report) -> str:
    """The report as a page."""
    contents = "".join(
        f'<li><a href="#{_anchor(section.title)}">{_inline(section.title)}</a></li>'
        for section in report.sections
    )
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(report.title)}</title>",
        f"<style>{_STYLE}</style></head>",
        "<body>",
        f"<h1>{_inline(report.title)}</h1>",
        f"<p>{_inline(report.opening)}</p>",
        f"<nav><ol>{contents}</ol></nav>",
    ]
    for section in report.sections:
        parts.append(f'<h2 id="{_anchor(section.title)}">{_inline(section.title)}</h2>')
        parts += [_block(block) for block in section.blocks]
    return "\n".join([*parts, "</body>", "</html>", ""])


def _block(block: Block) -> str:
    if isinstance(block, Prose):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Points):
        return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in block.items)}</ul>"
    if isinstance(block, Code):
        return f"<pre><code>{html.escape(block.text)}</code></pre>"
    if isinstance(block, Picture):
        # As an image, so that names inside two pictures cannot clash.
        source = base64.b64encode(svg(block.data).encode()).decode("ascii")
        return (
            f'<figure id="{block.name}"><img alt="{block.name}" '
            f'src="data:image/svg+xml;base64,{source}">'
            f"<figcaption>{_inline(block.caption)}</figcaption></figure>"
        )
    return render.to_html(block)


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
