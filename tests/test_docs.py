"""The documentation as a site: it builds without a warning, and fetches nothing from outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocstrings", reason="pip install 'adasent[docs]'")

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = re.compile(
    r"<(?:link|script|img|iframe)[^>]*(?:src|href)=\"?(?:https?:)?//(?!www\.w3\.org)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_there(site: Path) -> None:
    for path in (ROOT / "docs").glob("*.md"):
        assert (site / path.with_suffix(".html").name).is_file(), path.name


def test_nothing_is_fetched_from_outside(site: Path) -> None:
    for path in site.glob("*.html"):
        assert not OUTSIDE.search(path.read_text(encoding="utf-8")), path.name


def test_links_between_files_of_the_site_lead_somewhere(site: Path) -> None:
    for path in site.glob("*.html"):
        page = path.read_text(encoding="utf-8")
        for target in re.findall(r"(?:href|src)=\"?([^\"#?\s>]+)", page):
            if "://" in target or target.startswith(("data:", "mailto:", "/", "javascript:")):
                continue
            assert (path.parent / target).exists(), (path.name, target)


def test_the_reference_shows_docstrings_as_text(site: Path) -> None:
    page = (site / "reference.html").read_text(encoding="utf-8")
    assert "AdaSentClassifier" in page
    assert ":class:" not in page
    assert ":func:" not in page
