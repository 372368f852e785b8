"""The picture of docs/service.md: the page with the model that ``make demo`` leaves.

python examples/page_picture.py [MODEL]

Serves the model, opens its page in headless Chromium with a sentence, and takes the picture, if the
model labels the sentence rightly. Needs ``adasent[serve,page]`` and a Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

import adasent

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "page.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TEXT, LABEL = "it is not as funny as it wants to be", "negative"
SIZE = {"width": 1000, "height": 900}
MOST_BYTES = 200_000


def main(model: Path = ROOT / "demo-output" / "model", picture: Path = PICTURE) -> None:
    (found,) = adasent.load(model).predict([TEXT])
    if found != LABEL:
        raise ValueError(f"expected a model that says {LABEL} of {TEXT!r}, got {found}")
    with serving(model) as address, sync_playwright() as driver:
        # Chromium refuses to sandbox for root, as whom containers run.
        args = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=find_browser(), args=args)
        page = browser.new_context(viewport=SIZE, reduced_motion="reduce").new_page()
        page.goto(f"{address}/#{urlencode({'a': TEXT})}")
        page.locator("#help > summary").click()  # it is open on a first visit
        # The examples are of the training data, which others wrote.
        page.locator(".examples").evaluate("node => { node.hidden = true; }")
        page.locator(".unit[data-level='2'][data-index='2']").click()  # not as funny
        page.locator(".details .unit .rests").wait_for()
        page.locator(".card").screenshot(path=picture)
        browser.close()
    size = picture.stat().st_size
    if size > MOST_BYTES:
        raise ValueError(f"expected a picture of at most {MOST_BYTES:,} bytes, got {size:,}")


def find_browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise FileNotFoundError(f"expected one of {', '.join(BROWSERS)}; apt install chromium")
    return found


@contextmanager
def serving(model: Path) -> Iterator[str]:
    """The address of the model's page."""
    code = "from adasent.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if "http" not in line:
                raise RuntimeError(f"expected an address from adasent serve, got {line!r}")
            yield line.split()[1]
        finally:
            process.terminate()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
