"""Draws a search: what each trial reached, and how much each setting mattered, and where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adasent.evaluation.metrics import MEANS
from adasent.evaluation.search_space import Choice, Range
from adasent.evaluation.study import COMPLETE, LOWER_IS_BETTER, PRUNED, Study, is_better
from adasent.evaluation.trials import Trial
from adasent.explain.plots import new_figure

_DONE, _STOPPED, _BEST = "#0072b2", "#999999", "#d55e00"
_N_COLUMNS = 4


def draw_search(study: Study, title: str, *, dark: bool = False) -> Any:
    """A figure of the trials of a search, for :func:`adasent.explain.plots.save`."""
    names = sorted(study.space)
    importances = study.importances()
    names.sort(key=lambda name: -importances.get(name, 0.0))
    n_rows = math.ceil(len(names) / _N_COLUMNS)
    with new_figure(dark, 10.0, 3.4 + 2.3 * n_rows) as (figure, theme):
        figure.suptitle(title)
        above, below = figure.subfigures(2, 1, height_ratios=(3.0, 2.3 * n_rows))
        left, right = above.subplots(1, 2, width_ratios=(3, 2))
        _trials(left, study)
        _importances(right, names, importances, theme)
        panels = below.subplots(n_rows, _N_COLUMNS, squeeze=False, sharey=True).ravel()
        for panel, name in zip(panels, names, strict=False):
            _setting(panel, study, name)
        for panel in panels[len(names) :]:
            panel.set_axis_off()
        for panel in panels[::_N_COLUMNS]:
            panel.set_ylabel(_title(study.metric))
    return figure


def _title(metric: str) -> str:
    return f"dev {MEANS.get(metric, metric)}"


def _of(trials: Sequence[Trial], state: str) -> list[Trial]:
    return [one for one in trials if one.state == state and one.value is not None]


def _trials(axes: Any, study: Study) -> None:
    """Each trial by its number, and the best so far."""
    done, stopped = _of(study.trials, COMPLETE), _of(study.trials, PRUNED)
    if stopped:
        numbers, values = [one.number for one in stopped], [one.value for one in stopped]
        axes.plot(numbers, values, "x", color=_STOPPED, label="stopped early")
    numbers, values = [one.number for one in done], [one.value for one in done]
    axes.plot(numbers, values, "o", color=_DONE, markersize=4, label="trial")
    numbers, best = best_so_far(study)
    axes.step(numbers, best, where="post", color=_BEST, label="best so far")
    axes.set(xlabel="trial", ylabel=_title(study.metric))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False, fontsize=8)


def best_so_far(study: Study) -> tuple[list[int], list[float]]:
    """The numbers of finished trials, and the best figure up to each."""
    numbers: list[int] = []
    best: list[float] = []
    for one in sorted(_of(study.trials, COMPLETE), key=lambda one: one.number):
        assert one.value is not None
        is_new = not best or is_better(study.metric, one.value, best[-1])
        numbers.append(one.number)
        best.append(one.value if is_new else best[-1])
    return numbers, best


def _importances(
    axes: Any, names: Sequence[str], shares: Mapping[str, float], theme: Mapping[str, str]
) -> None:
    """How much of the difference between trials each setting explains."""
    if not shares:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "too few trials to say\nwhat mattered", ha="center", va="center")
        return
    places = range(len(names))
    axes.barh(places, [100 * shares.get(name, 0.0) for name in names], color=_DONE)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set(xlabel="% of the difference between trials")


def _setting(axes: Any, study: Study, name: str) -> None:
    """What trials reached by the value of one setting."""
    one = study.space[name]
    best = study.best
    for state, mark, colour in ((PRUNED, "x", _STOPPED), (COMPLETE, "o", _DONE)):
        found = _of(study.trials, state)
        axes.plot(
            [_place(one, trial.settings[name]) for trial in found],
            [trial.value for trial in found],
            mark,
            color=colour,
            markersize=4,
        )
    if best is not None:
        axes.plot([_place(one, best.settings[name])], [best.value], "D", color=_BEST, markersize=6)
    if isinstance(one, Choice):
        axes.set_xticks(range(len(one.values)), [str(value) for value in one.values])
        axes.set_xlim(-0.5, len(one.values) - 0.5)
    elif one.log:
        axes.set_xscale("log")
    elif one.is_whole:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if study.metric in LOWER_IS_BETTER:
        axes.set_yscale("log")
    axes.set_xlabel(name)


def _place(one: Range | Choice, value: Any) -> Any:
    return one.values.index(value) if isinstance(one, Choice) else value
