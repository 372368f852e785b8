"""The page in one file against Python on the same texts, on one core -> table of docs/export.md.

    python benchmarks/page_time.py             # measure all in Chromium, some two minutes
    python benchmarks/page_time.py --quick     # few lengths and repeats: does it run?
    python benchmarks/page_time.py --tables    # fill the page of the docs from the CSV

The model is the starter. Texts are of random words that it knows, each asked once: what is built
for one text is kept for the next, and would make a second answer quicker. A time is that of an
answer, from the text to all that the page draws, without the drawing; Python's has the same in it.
"""

from __future__ import annotations

import argparse
import importlib
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

import adasent  # noqa: E402
from adasent.estimators.predictor import Predictor  # noqa: E402
from adasent.export.page_file import export_page  # noqa: E402
from benchmarks.pages import markdown, put_between_marks  # noqa: E402
from benchmarks.records import Result, Row, Shape, environment, read_rows, row, write_rows  # noqa: E402
from benchmarks.tables import origin, spread  # noqa: E402

CSV = ROOT / "benchmarks" / "results" / "page_time.csv"
PAGE = ROOT / "docs" / "export.md"
WORK = {"explain": "explanation", "predict": "prediction"}

# A worker of the page, and the milliseconds that it takes for each of some texts.
ASK = """async ([kind, texts]) => {
  const held = (id) => document.getElementById(id).textContent;
  if (!window.asked) {
    window.asked = new Worker(URL.createObjectURL(new Blob([held("held-worker")])));
    window.asked.postMessage({ model: held("held-model"), weights: held("held-weights") });
  }
  const taken = [];
  for (const [id, text] of texts.entries()) {
    const answer = new Promise((resolve) => { window.asked.onmessage = resolve; });
    const start = performance.now();
    window.asked.postMessage({ id, kind, value: kind === "predict" ? [text] : text });
    await answer;
    taken.push(performance.now() - start);
  }
  return taken;
}"""


class Sizes(NamedTuple):
    """How much is measured."""

    lengths: tuple[int, ...] = (5, 10, 11, 25, 50, 100)
    repeats: int = 15


QUICK = Sizes((5, 11), 2)


def measure(page: Any, model: Predictor, sizes: Sizes) -> Iterator[Result]:
    """Milliseconds of both, text by text in turns."""
    words = [word for word in model.encoder.vocabulary.words[2:] if word.isalpha()]
    rng = random.Random(0)
    for kind, name in WORK.items():
        for n in sizes.lengths:
            texts = [" ".join(rng.choices(words, k=n)) for _ in range(sizes.repeats + 1)]
            found: dict[str, list[float]] = {"page": [], "python": []}
            for text in texts:
                found["page"] += page.evaluate(ASK, [kind, [text]])
                start = time.perf_counter()
                model.explain(text).to_dict() if kind == "explain" else model.predict_proba([text])
                found["python"].append(1000 * (time.perf_counter() - start))
            shape = Shape(1, n, model.network.config.hidden_size, "equal")
            kept = {
                who: np.array(values[1:]) for who, values in found.items()
            }  # the first compiles
            for who, values in kept.items():
                yield Result(f"{name}, {who}", "ms", values, shape)
            yield Result(f"{name}, page", "ratio", kept["page"] / kept["python"], shape, "python")


def table(rows: list[Row]) -> str:
    """A line a length: milliseconds of both, and their ratio."""
    body = []
    for name in WORK.values():
        for n in sorted({one.longest for one in rows if one.longest}):
            cells = [
                next(spread(one) for one in rows if (one.longest, one.provider, one.unit) == key)
                for key in (
                    (n, f"{name}, page", "ms"),
                    (n, f"{name}, python", "ms"),
                    (n, f"{name}, page", "ratio"),
                )
            ]
            body.append([name, str(n), *cells])
    header = ["", "words", "page, ms", "Python, ms", "page over Python"]
    return f"{origin(rows)}\n\n{markdown(header, body)}"


def run(sizes: Sizes) -> list[Row]:
    """All measurements, in Chromium."""
    from playwright.sync_api import sync_playwright

    importlib.import_module("adasent.runtime.compiled")  # a text in the middle would start numba
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    warnings.simplefilter("ignore")
    model = adasent.load("starter")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = export_page(model, Path(folder) / "starter.html", name="starter")
        # Chromium refuses to sandbox for root, as whom containers run.
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        page.goto(path.as_uri())
        where = environment(threads=1)
        found = [row("page", one, where) for one in measure(page, model, sizes)]
        browser.close()
    return found


def main() -> None:
    """Measure, or fill the page of the docs."""
    parser = argparse.ArgumentParser(description="The page in one file against Python.")
    parser.add_argument("--quick", action="store_true", help="few lengths and repeats")
    parser.add_argument("--tables", action="store_true", help="fill the page from the CSV alone")
    given = parser.parse_args()
    if not given.tables:
        rows = run(QUICK if given.quick else Sizes())
        print(table(rows))
        if given.quick:
            return
        write_rows(CSV, rows)
    page = PAGE.read_text(encoding="utf-8")
    text = put_between_marks(page, "page-time", "page_time.py", table(read_rows(CSV)))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
