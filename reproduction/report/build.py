"""A catalogue of records in; the whole report out, section by section."""

from __future__ import annotations

from reproduction.catalog import Catalog
from reproduction.report.accuracy import accuracy, differences, tests
from reproduction.report.blocks import Report
from reproduction.report.closing import cost, limits, rerun
from reproduction.report.pictures import pictures
from reproduction.report.protocol import protocol
from reproduction.report.robustness import ablations, robustness
from reproduction.report.sets import sets
from reproduction.report.summary import claims, in_short

_OPENING = (
    "How far the evaluation of Zhao, Lu and Poupart, Self-Adaptive Hierarchical Sentence Model "
    "(IJCAI 2015), can be reproduced. Every figure of ours comes from the record of a run in "
    "`results`, every figure of the paper's from `experiments/paper.toml`, and the sentences are "
    "chosen by the figures. This page is made by `adasent reproduce report`."
)
_SECTIONS = (
    in_short,
    claims,
    protocol,
    sets,
    accuracy,
    differences,
    robustness,
    ablations,
    pictures,
    cost,
    rerun,
    limits,
    tests,
)


def build_report(catalog: Catalog) -> Report:
    """The report of what the catalogue holds."""
    title = "AdaSent, reproduced: twelve systems on five sets"
    return Report(title, _OPENING, tuple(section(catalog) for section in _SECTIONS))
