"""What `make docs` does beside mkdocs: the README becomes the first page, links find their files.

Pages are written to be read where they lie, in the repository. A picture from outside this folder
is copied into the site; a link to any other file from outside it is left as the name of the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the README as the first page, and the pictures that pages show from elsewhere."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=readme.replace("](docs/", "](")))
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.svg")):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Point links out of docs/ at what the site has of them."""
    here = ROOT if page.file.src_uri == "index.md" else ROOT / "docs"

    def point(match: re.Match[str]) -> str:
        picture, text, target, anchor = match.groups()
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        if page.file.src_uri == "index.md" and files.get_file_from_path(target):
            return match[0]
        path = (here / target).resolve()
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("docs/"):
            return match[0]
        if files.get_file_from_path(name):
            return f"{picture}[{text}]({name}{anchor or ''})"
        if not path.exists():
            raise FileNotFoundError(f"{page.file.src_uri}: there is no {name}")
        return f"{text} (`{name}`)" if name not in text else text

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else LINK.sub(point, part) for part in parts)
