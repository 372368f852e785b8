"""Scores and notes as several commands print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adasent.cli.console import say, table

if TYPE_CHECKING:
    from rich.table import Table

    from adasent.evaluation.advice import Note
    from adasent.evaluation.metrics import Report


def class_table(report: Report, most: int | None = None) -> Table:
    """Precision, recall and F1 of each class, and their mean over the classes that texts have.

    Of more than ``most`` classes, those of the lowest F1 that texts have; None shows all.
    """
    scores = table("class", ">precision", ">recall", ">F1", ">texts")
    shown = list(report.classes)
    if most is not None and len(shown) > most:
        worst = sorted((one for one in shown if one.support), key=lambda one: one.f1)[:most]
        shown = [one for one in shown if one in worst]
    for one in shown:
        numbers = (f"{value:.4f}" for value in (one.precision, one.recall, one.f1))
        scores.add_row(str(one.label), *numbers, str(one.support))
    n_hidden = len(report.classes) - len(shown)
    if n_hidden:
        scores.add_row(f"and {n_hidden} more, none worse", "", "", "", "")
    recall, f1 = f"{report.balanced_accuracy:.4f}", f"{report.macro_f1:.4f}"
    scores.add_row("mean of classes", "", recall, f1, str(report.n))
    return scores


def say_notes(notes: Sequence[Note]) -> None:
    """A line for each."""
    for note in notes:
        say(f"{note.title:20}{note.text}")
