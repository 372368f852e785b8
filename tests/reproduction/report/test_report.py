"""The page is what the records give, and a stranger can recompute it."""

from __future__ import annotations

import contextlib
import io
import math
import re
import runpy
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import Environment, UndefinedError, meta

from adasent.errors import ConfigError, DataError
from reproduction.catalog import Catalog
from reproduction.cells import Place
from reproduction.render import Cell, Table
from reproduction.report import build_report, fill_readme, to_html, write_report
from reproduction.report.build import fill, template
from reproduction.report.readme import BEGIN, END
from reproduction.report.slots import lookup, slots
from reproduction.report.tables import survivors
from reproduction.specs import experiments
from reproduction.table2 import short_table2

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def test_the_committed_page_is_what_the_records_give(page: str) -> None:
    assert (DOCS / "reproduction.md").read_text("utf-8") == page
    assert (DOCS / "reproduction.html").read_text("utf-8") == to_html(page, DOCS)


def test_the_readme_has_the_table_of_the_records(catalog: Catalog, tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    copy = tmp_path / "README.md"
    copy.write_text(text, "utf-8")
    fill_readme(copy, short_table2(catalog.results, catalog.sizes))
    assert copy.read_text("utf-8") == text


def test_every_slot_is_used_and_filled(catalog: Catalog) -> None:
    used = meta.find_undeclared_variables(Environment().parse(template()))
    assert used == slots(catalog).keys()


def test_a_slot_without_a_value_is_an_error() -> None:
    assert fill("{{ a.b }}\n", {"a": {"b": 1}}) == "1\n"
    for text in ("{{ b }}", "{{ a.c }}", "{{ a['x y'] }}"):
        with pytest.raises(UndefinedError):
            fill(text, {"a": {"b": 1}})


def test_files(catalog: Catalog, page: str, tmp_path: Path) -> None:
    write_report(catalog, tmp_path / "new")
    files = {str(p.relative_to(tmp_path / "new")) for p in (tmp_path / "new").rglob("*.*")}
    linked = set(re.findall(r"\]\((pictures/[\w-]+\.svg)\)", page))
    assert files == {"reproduction.md", "reproduction.html"} | linked
    assert len(linked) == 5


def test_there_is_no_page_of_a_part_of_the_records(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "results" / "table2" / "nbsvm", tmp_path / "table2" / "nbsvm")
    with pytest.raises(DataError, match=r"table1.*table2.*table3.*ablations.*fig-pca"):
        build_report(Catalog(tmp_path, experiments()))


def test_cells_by_row_and_column() -> None:
    rows = (("MR", "a", "80.1 ± 1.2▼†", "1"), ("MR", "b", "−2.00▲", "2"), ("CR", "a", "–", "3"))
    table = Table("t", "", ("Set", "Model", "x", "x"), tuple(tuple(map(Cell, r)) for r in rows))
    found = lookup(table, "Set", "Model")
    assert found["MR"]["a"]["x"] == "80.1"  # the first column of a name
    assert found["MR"]["b"]["x"] == "−2.00"
    assert lookup(table)["CR"]["x"] == "–"


def test_holm() -> None:
    def catalog(*ps: float) -> Any:
        tests = {
            Place(f"s{i}", "MR", "random"): SimpleNamespace(mcnemar=SimpleNamespace(p=p))
            for i, p in enumerate(ps)
        }
        return SimpleNamespace(results=SimpleNamespace(tests=tests | {"ours": None}))

    # Of four: 0.05 / 4 = 0.0125, / 3 = 0.0167, / 2 = 0.025, / 1 = 0.05.
    names = {place.system for place in survivors(catalog(0.03, 0.001, 0.012, 0.016))}
    assert names == {"s0", "s1", "s2", "s3"}
    assert {place.system for place in survivors(catalog(0.02, 0.001, 0.017, 0.9))} == {"s1"}
    assert survivors(catalog(0.02, 0.02, 0.9)) == set()


class Tags(HTMLParser):
    """Fails on tags that do not close in order; keeps sources, links and names."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: dict[str, list[str]] = {"src": [], "href": [], "id": []}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            self.found.get(name, []).append(value or "")
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_html_page_needs_nothing_else(page: str) -> None:
    tags = Tags()
    tags.feed(to_html(page, DOCS))
    assert tags.open == []
    assert len(tags.found["src"]) == 5
    assert all(source.startswith("data:image/svg+xml;base64,") for source in tags.found["src"])
    headings = re.findall(r"^## (.+)$", page, re.M)
    assert len(set(tags.found["id"])) == len(headings)
    assert {link.removeprefix("#") for link in tags.found["href"]} == set(tags.found["id"])


def test_links_of_other_pages_lead_somewhere(page: str) -> None:
    names = {title.lower().replace(" ", "-") for title in re.findall(r"^## (.+)$", page, re.M)}
    for path in (*DOCS.glob("*.md"), ROOT / "README.md"):
        for name in re.findall(r"reproduction\.md#([\w-]+)", path.read_text("utf-8")):
            assert name in names, path


def test_html_of_small_texts() -> None:
    text = (
        "# A < B\n\n`x` & y\n\n## To do\n\n| a | b |\n| :-- | --: |\n| 1 | 2 |\n\n```py\n1<2\n```\n"
    )
    html = to_html(text + "\n![p](pictures/p.svg)\n")
    assert "<title>A &lt; B</title>" in html
    assert "<p><code>x</code> &amp; y</p>" in html
    assert '<h2 id="to-do">To do</h2>' in html
    assert '<li><a href="#to-do">To do</a></li>' in html
    assert '<div class="wide"><table>' in html
    assert '<td style="text-align:right">2</td>' in html
    assert "1&lt;2" in html
    assert '<img src="pictures/p.svg" alt="p"' in html  # a folder was not given


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script that the committed page shows."""
    text = (DOCS / "reproduction.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(code.splitlines()) <= 30
    path = tmp_path_factory.mktemp("script") / "recompute.py"
    path.write_text(code, "utf-8")
    return path


def recompute(script: Path, *files: Path) -> dict[str, list[float]]:
    """What it prints, by the words before the figures."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "argv", [str(script), *map(str, files)])
        runpy.run_path(str(script))
    found = {}
    for line in out.getvalue().splitlines():
        words = re.match(r"[a-z ,]+[a-z]", line)
        assert words is not None
        found[words[0]] = [float(number) for number in re.findall(r"-?\d+\.?\d*", line)]
    return found


def numbers(*cells: str) -> Any:
    """Those in the cells of a table; a tie of the last digit may fall to either side."""
    text = " ".join(cells).replace("−", "-")
    return pytest.approx([float(n) for n in re.findall(r"-?\d+\.?\d*", text)], abs=0.0101)


def test_the_script_recomputes_table_2(catalog: Catalog, script: Path) -> None:
    (table,) = [t for t in catalog.tables("table2") if t.name == "table2-tests"]
    rows = {(row[0].text, row[1].text): [cell.text for cell in row] for row in table.rows}
    places = [place for place in catalog.results.runs if place.data in ("CR", "TREC")]
    assert len(places) >= 48
    for place in places:
        row = rows[f"{place.data}, {place.rule}", catalog.plan.systems[place.system].title]
        _, _, mean, sd, interval, _, difference, of_difference, alone, p = row
        name = f"{place.data}-{place.rule}.jsonl"
        files = [catalog.root / "table2" / s / name for s in (place.system, "adasent")]
        found = recompute(script, *files)
        _, test, _, test_sd, _, low, _, high = found["dev and test"]
        assert [test, test_sd] == numbers(mean, "0" if sd == "–" else sd), place
        if place.data != "TREC":  # the interval of an official split is Wilson's
            assert [low, high] == numbers(interval), place
        if place.system == "adasent":
            continue
        assert found["text by text"] == numbers(difference, of_difference), place
        assert found["right alone"] == numbers(alone), place
        if place.data != "TREC":  # of several runs, p is by signs that are turned
            a, b = found["right alone"]
            expected = math.erfc(math.sqrt((abs(a - b) - 1) ** 2 / (a + b) / 2))
            said = 0.0 if p == "< 0.0001" else float(p)
            assert expected == pytest.approx(said, abs=0.000101), place


def test_the_script_recomputes_table_3(catalog: Catalog, script: Path) -> None:
    rows = {row[0].text: row for row in catalog.tables("table3")[0].rows}
    for system in catalog.robust_systems:
        for i, data in enumerate(catalog.sets):
            if catalog.variance.summary(system.name, data) is None:
                continue
            path = catalog.root / "table3" / system.name / f"{data}-random.jsonl"
            _, mean, _, sd, *_ = recompute(script, path)["dev and test"]
            assert [mean, sd] == numbers(rows[system.title][2 * i + 2].text), (system, data)


def test_the_script_recomputes_further_folds(catalog: Catalog, script: Path) -> None:
    for path in sorted((catalog.root / "partitions").glob("*/CR-*.jsonl")):
        found = catalog.partitions.means(path.parent.name, "CR")
        assert found is not None, path
        seed = int(path.stem.rsplit("-", 1)[1])
        assert recompute(script, path)["dev and test"][1] == pytest.approx(found[seed], abs=0.0051)


def test_the_script_recomputes_the_ablations(catalog: Catalog, script: Path) -> None:
    (table,) = [t for t in catalog.tables("ablations") if t.name == "ablations-runs"]
    rows = [[cell.text for cell in row] for row in table.rows if row[0].text in ("CR", "TREC")]
    assert len(rows) >= 10
    for data, variant, _, dev, test, interval, change, of_change in rows:
        folder = catalog.root / "ablations"
        files = [folder / name / f"{data}-random.jsonl" for name in (variant, "default")]
        found = recompute(script, *files)
        _, _, _, _, _, low, _, high = found["dev and test"]
        assert [*found["dev and test"][:2], low, high] == numbers(dev, test, interval)
        if variant != "default":
            _, less, _, _, _, low, _, high = found["run by run, dev and test"]
            assert [-less, -high, -low] == numbers(change, of_change)  # the other way round


def test_readme(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"Before.\n\n{BEGIN}\nstale\n{END}\n\nAfter.\n")
    table = short_table2(catalog.results, catalog.sizes)
    fill_readme(path, table)
    once = path.read_text("utf-8")
    mean = catalog.results.mean("adasent", "MR")
    (ours,) = [line for line in once.splitlines() if line.startswith("| **AdaSent** |")]
    assert f"{mean:.1f}" in ours.split("|")[2]
    assert "| AdaSent (paper) |" in once
    assert "missing" not in once
    assert "stale" not in once
    assert once.startswith("Before.\n")
    assert once.endswith("\n\nAfter.\n")
    fill_readme(path, table)
    assert path.read_text("utf-8") == once


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}"])
def test_readme_without_marks(tmp_path: Path, text: str) -> None:
    path = tmp_path / "README.md"
    path.write_text(text)
    with pytest.raises(ConfigError, match="once each"):
        fill_readme(path, Table("t", "T", ("a",), ()))
    assert path.read_text() == text
