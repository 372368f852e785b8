"""What a sweep asks Optuna: which settings to try next, which training to stop, what mattered.

A study lives in memory and is made again from the records of its trials, so that it needs no
database. Every trial is drawn with a seed of its own number: a search that was stopped goes on as
it would have gone on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adasent.errors import require
from adasent.evaluation.search_space import Choice, Range, Space

if TYPE_CHECKING:
    from adasent.evaluation.trials import Trial

#: Metrics of which less is better.
LOWER_IS_BETTER = ("loss",)
#: What may become of a trial; pruned: stopped before its end.
COMPLETE, PRUNED, FAILED = "complete", "pruned", "failed"
#: The same as Optuna names it.
_STATES = {COMPLETE: "COMPLETE", PRUNED: "PRUNED", FAILED: "FAIL"}
#: Trials that are drawn at random before the sampler looks at what they gave.
N_RANDOM = 8
#: Finished trials before any is stopped, and epochs that each is given.
N_BEFORE_PRUNING = 4
N_WARM_EPOCHS = 2
#: Finished trials from which on it is said what mattered.
N_FOR_IMPORTANCE = 6


def optuna() -> Any:
    """The module, which keeps what it is doing to itself."""
    module = require("optuna", "sweep", "a sweep")
    logging.getLogger("optuna").setLevel(logging.WARNING)
    return module


def direction(metric: str) -> str:
    """As Optuna names it."""
    return "minimize" if metric in LOWER_IS_BETTER else "maximize"


def is_better(metric: str, value: float, than: float) -> bool:
    """Whether a figure is better than another."""
    return value < than if metric in LOWER_IS_BETTER else value > than


class Pruner:
    """Stops a training whose best epoch is behind the median of others at the same epoch."""

    def __init__(self, metric: str, others: Sequence[Sequence[float]]) -> None:
        self._trial = None
        curves = [one for one in others if one]
        if len(curves) < N_BEFORE_PRUNING:
            return
        module = optuna()
        study = module.create_study(
            direction=direction(metric),
            pruner=module.pruners.MedianPruner(N_BEFORE_PRUNING, N_WARM_EPOCHS),
        )
        for one in curves:
            steps = dict(enumerate(one))
            study.add_trial(module.trial.create_trial(value=one[-1], intermediate_values=steps))
        self._trial = study.ask()

    def stops(self, epoch: int, value: float) -> bool:
        """Whether to go no further, after an epoch with this figure."""
        if self._trial is None:
            return False
        self._trial.report(value, epoch)
        return bool(self._trial.should_prune())


@dataclass
class Study:
    """A search: asked for settings, told what they gave."""

    space: Space
    metric: str
    seed: int
    first: Mapping[str, Any] | None = None  # settings of trial 0; None draws them

    def __post_init__(self) -> None:
        module = self._module = optuna()
        self._study = module.create_study(
            direction=direction(self.metric), sampler=module.samplers.RandomSampler(self.seed)
        )
        self._distributions = {name: _distribution(module, one) for name, one in self.space.items()}
        self._asked: dict[int, Any] = {}
        self.trials: list[Trial] = []

    def ask(self, number: int) -> dict[str, Any]:
        """Settings of a trial."""
        if number == 0 and self.first is not None:
            self._study.enqueue_trial(dict(self.first))
        # By seed and number alone: what a study that is made again would draw.
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        self._study.sampler = self._module.samplers.TPESampler(seed=seed, n_startup_trials=N_RANDOM)
        self._asked[number] = trial = self._study.ask(self._distributions)
        return dict(trial.params)

    def tell(self, trial: Trial) -> None:
        """What a trial gave, whether it was asked for now or in an earlier run."""
        self.trials.append(trial)
        state = self._module.trial.TrialState[_STATES[trial.state]]
        asked = self._asked.pop(trial.number, None)
        if asked is None:
            added = self._module.trial.create_trial(
                state=state,
                value=trial.value if trial.state == COMPLETE else None,
                params=trial.settings,
                distributions=self._distributions,
                intermediate_values=dict(enumerate(trial.epochs)),
            )
            self._study.add_trial(added)
            return
        for epoch, value in enumerate(trial.epochs):
            asked.report(value, epoch)
        self._study.tell(asked, trial.value if trial.state == COMPLETE else None, state=state)

    @property
    def best(self) -> Trial | None:
        """The first of :attr:`ranked`; None if no trial has come to its end."""
        return next(iter(self.ranked), None)

    @property
    def ranked(self) -> list[Trial]:
        """The finished trials, the best first; of equally good ones the earlier one."""
        sign = 1 if self.metric in LOWER_IS_BETTER else -1
        finished = [(one.value, one) for one in self.trials if one.state == COMPLETE]
        keyed = [(sign * value, one.number, one) for value, one in finished if value is not None]
        return [one for _, _, one in sorted(keyed, key=lambda key: key[:2])]

    @property
    def curves(self) -> list[list[float]]:
        """What finished trials had after each epoch, by their number."""
        finished = [one for one in self.trials if one.state == COMPLETE]
        return [one.epochs for one in sorted(finished, key=lambda one: one.number)]

    def importances(self) -> dict[str, float]:
        """How much of the difference between trials each setting explains; shares of 1.

        By a forest over the finished trials. Empty where they are too few or all alike.
        """
        values = {one.value for one in self.trials if one.state == COMPLETE}
        if len(self.curves) < N_FOR_IMPORTANCE or len(values) < 2:
            return {}
        module = self._module.importance
        found = module.get_param_importances(
            self._study, evaluator=module.FanovaImportanceEvaluator(seed=self.seed)
        )
        return {name: float(share) for name, share in found.items()}


def _distribution(module: Any, one: Range | Choice) -> Any:
    kinds = module.distributions
    if isinstance(one, Choice):
        return kinds.CategoricalDistribution(one.values)
    kind = kinds.IntDistribution if one.is_whole else kinds.FloatDistribution
    return kind(one.low, one.high, log=one.log)
