"""``adasent sweep``: searches settings, tests the best, and says what mattered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli import options
from adasent.cli.console import console, progress, say, table
from adasent.cli.engine import Workers
from adasent.cli.folders import claimed, stop
from adasent.cli.groups import spread
from adasent.cli.reading import Reading
from adasent.errors import ConfigError

if TYPE_CHECKING:
    from rich.progress import Progress

    from adasent.evaluation.records import FoldRecord
    from adasent.evaluation.search_space import Choice, Range
    from adasent.evaluation.sweep import Found, Sweep
    from adasent.evaluation.trials import Trial

_RANGE = ":"
_BEST_SHOWN = 5


@spread
def sweep(
    data: options.Data,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder of the sweep; a sweep that is there is gone on with."
        ),
    ],
    reading: Reading,
    training: options.Training,
    workers: Workers,
    system: options.SystemName = "adasent",
    search: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES",
            help="Search this in place of what is searched by default: key=low:high, "
            "key=low:high:log or key=a,b,c; repeatable.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(metavar="N", help="Trials of each search; 30 if no --minutes are given."),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(metavar="M", help="Begin no trial after so long, all in all.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What is best on the dev part: accuracy, the default, macro_f1, "
            "balanced_accuracy or loss.",
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(help="Search inside each of so many folds and test it; then on all.")
    ] = 0,
    grouped: Annotated[
        bool, typer.Option("--grouped", help="Keep texts of equal words in one fold.")
    ] = False,
    dev: Annotated[
        float, typer.Option(metavar="F", help="Share of the texts that trials are compared on.")
    ] = 0.2,
    test: Annotated[
        float,
        typer.Option(metavar="F", help="Share kept away from the search, without folds."),
    ] = 0.2,
    seed: options.Seed = 0,
    vectors: options.Vectors = None,
    encoder: options.Encoder = None,
    tune_encoder: options.TuneEncoder = False,
    tokenizer: options.Tokenizer = None,
    preset: options.Preset = None,
    assignments: options.Set = None,
) -> None:
    """Search good settings of a system, and test them on texts the search has not seen.

    The test part is the official one, if there is one, or held out. Trials that
    fall behind are stopped early. A sweep that was stopped or killed goes on
    when the same command is given again, with more --trials too.

    \b
    Examples:
      adasent sweep reviews.csv --out sweep --trials 40
      adasent sweep TREC --out sweep --search dropout=0:0.6 --search hidden_size=50,100
      adasent sweep CR --out sweep --system nbsvm --folds 5
      adasent sweep reviews.csv --out sweep --engine ray --workers 16 --minutes 60
    """
    settings = options.take_settings(system, preset, assignments, training)
    settings = options.with_tokenizer(tokenizer, settings)
    options.check_options(system, {"--vectors": vectors, "--encoder": encoder})
    options.take_encoder(encoder, tune_encoder, settings)
    if "random_state" in settings:
        raise ConfigError("--set random_state: the parts have the same seed; use --seed")
    by_setting = settings.pop("metric", None)
    if metric is not None:
        options.check_contradiction("--metric", "metric", metric, {"metric": by_setting or metric})
    space = None if not search else parse_search(search, system)
    if space is not None:
        from adasent.evaluation.search_space import check_space

        check_space(system, space, settings, "--search")
    wanted = options.take_vectors(vectors, settings)

    from adasent.evaluation.sweep import Sweep
    from adasent.evaluation.sweep_parts import SweepConfig

    config = SweepConfig(
        metric=metric or by_setting or "accuracy",
        n_folds=folds,
        grouped=grouped,
        dev_fraction=dev,
        test_fraction=test,
        seed=seed,
    )
    with claimed(out):
        corpus = reading.load(data)
        corpus.need_one_label("a sweep")
        files = options.files_of(wanted, system, settings)
        made = Sweep(corpus, out, settings, space, system=system, vectors=files, config=config)
        _introduce(made)
        seen = _Seen(made, trials, minutes)
        try:
            with workers.executor() as executor, seen.bar:
                for one in made.run(trials, minutes, executor):
                    seen.take(one)
        except KeyboardInterrupt:
            kept = "1 trial is" if seen.n_made == 1 else f"{seen.n_made} trials are"
            stop(f"stopped; {kept} in {out}; the same command goes on from there")
        found = made.found()
        picture = _draw(made)
    _report(made, found)
    say()
    say(f"drawn in   {picture}")
    say(f"settings   {made.best_file}")
    same = [*reading.words, *training.words]
    same += [] if preset is None else ["--preset", preset]
    same += [] if tokenizer is None else ["--tokenizer", tokenizer]
    same += [] if encoder is None else ["--encoder", encoder]
    same += ["--tune-encoder"] if tune_encoder else []
    same += [word for one in vectors or [] for word in ("--vectors", one)]
    same += [word for one in assignments or [] for word in ("--set", one)]
    if metric is not None and by_setting is None and "metric" in options.keywords(system):
        same += ["--set", f"metric={metric}"]
    same += [] if system == "adasent" else ["--system", system]
    values = found[-1].trial.settings.items()
    same += [word for key, value in values for word in ("--set", f"{key}={value}")]
    say(f"train      {options.command('adasent', 'train', data, '--out', 'model', *same)}")


def parse_search(texts: Sequence[str], system: str) -> dict[str, Range | Choice]:
    """``["dropout=0:0.5", "hidden_size=50,100"]`` as what is searched, typed by the settings."""
    from adasent.evaluation.search_space import Choice, Range, searchable

    space: dict[str, Range | Choice] = {}
    for text in texts:
        key, _, values = text.partition("=")

        def typed(value: str, key: str = key) -> Any:
            return options.parse_settings([f"{key}={value}"], system, "--search")[key]

        if not values:
            raise ConfigError(
                f"--search: expected key=low:high, key=low:high:log or key=a,b,c, got {text!r}"
            )
        if key in space:
            raise ConfigError(f"--search {key}: it is given twice; leave one of them out")
        if key not in searchable(system):
            typed(values.split(",")[0])  # says what is wrong with the key
            raise ConfigError(f"--search {key}: it cannot be searched; it is fixed for all trials")
        parts = values.split(_RANGE)
        if len(parts) == 1:
            space[key] = Choice(tuple(typed(value) for value in values.split(",")))
        elif len(parts) == 2 or (len(parts) == 3 and parts[2] == "log"):
            space[key] = Range(typed(parts[0]), typed(parts[1]), log=len(parts) == 3)
        else:
            raise ConfigError(f"--search {key}: expected low:high or low:high:log, got {values!r}")
    return space


def _introduce(made: Sweep) -> None:
    corpus, config = made.corpus, made.config
    how = f"{len(made.folds)} {made.rule} folds"
    if not config.n_folds:
        how = f"{len(made.folds[0].test):,} texts kept for the test, {made.rule}"
    other = "" if made.system == "adasent" else f", {made.system}"
    say(f"{corpus.name}: {len(corpus):,} texts, {how}{other}")
    say(f"searched: {', '.join(sorted(made.space))}")


class _Seen:
    """A line for each trial and test, and a bar with an estimate on a terminal."""

    def __init__(self, made: Sweep, n_trials: int | None, minutes: float | None) -> None:
        from adasent.evaluation.sweep import N_TRIALS

        self._screen = console()
        self._made, self._minutes = made, minutes
        n_trials = N_TRIALS if n_trials is None and minutes is None else n_trials
        terminal = self._screen if self._screen.is_terminal else console(stderr=True)
        self.bar: Progress = progress(terminal)
        total = None if n_trials is None else n_trials * len(made.searches)
        self.n_made = self._n_before = sum(map(len, made.trials().values()))
        self._task = self.bar.add_task("trials", total=total, completed=self.n_made)
        self._started = time.monotonic()

    def take(self, one: Trial | FoldRecord) -> None:
        """Say what has come in."""
        from adasent.evaluation.trials import Trial

        if not isinstance(one, Trial):
            place = f"fold {one.fold + 1}/{one.n_folds}" if one.n_folds > 1 else one.rule
            self._screen.print(
                f"test, {place}  accuracy {100 * one.accuracy:6.2f}  {one.seconds:6.1f} s"
            )
            return
        self.n_made += 1
        self._screen.print(self._line(one), soft_wrap=True)
        elapsed = time.monotonic() - self._started
        rate = elapsed / (self.n_made - self._n_before)
        said = f"{one.search}, trial {self.n_made}, {rate:.1f} s a trial"
        if self._minutes is not None:
            said += f", {max(0.0, self._minutes - elapsed / 60):.1f} min left"
        self.bar.update(self._task, completed=self.n_made, description=said)

    def _line(self, one: Trial) -> str:
        where = f"{one.search}  " if len(self._made.searches) > 1 else ""
        said = one.error
        if one.value is not None:
            said = f"{self._made.config.metric} {_percent(self._made, one.value)}"
        if one.state == "pruned":
            said += f"  stopped after {len(one.epochs)} epochs"
        return f"{where}trial {one.number:3d}  {said}  {one.seconds:6.1f} s  {_settings(one)}"


def _percent(made: Sweep, value: float) -> str:
    return f"{value:7.4f}" if made.config.metric == "loss" else f"{100 * value:6.2f}"


def _settings(trial: Trial) -> str:
    shown = (f"{key}={_short(value)}" for key, value in sorted(trial.settings.items()))
    return "  ".join(shown)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _draw(made: Sweep) -> Path:
    from adasent.evaluation.sweep_picture import draw_search
    from adasent.explain.plots import save

    picture = made.out / "sweep.png"
    study = made.study
    title = f"{made.system} on {made.corpus.name}: {len(study.trials)} trials"
    save(draw_search(study, title), picture)
    return picture


def _report(made: Sweep, found: Sequence[Found]) -> None:
    """The best of each search with its test, the best trials, and what mattered."""
    from adasent.evaluation.summary import summarise

    screen = console()
    title = made.config.metric
    tests = table("search", ">trials", f">dev {title}", ">test accuracy", ">macro F1", "settings")
    n_trials = {search: len(trials) for search, trials in made.trials().items()}
    for one in found:
        scores = ["", ""] if one.record is None else list(_test(one.record))
        assert one.trial.value is not None
        shown = _percent(made, one.trial.value)
        tests.add_row(one.search, str(n_trials[one.search]), shown, *scores, _settings(one.trial))
    screen.print()
    screen.print(tests)
    accuracies = [one.record.accuracy for one in found if one.record is not None]
    if len(accuracies) > 1:
        total = summarise(accuracies)
        assert total.sd is not None
        say(f"test accuracy {100 * total.mean:.2f} ± {100 * total.sd:.2f} (sd of {total.n} folds)")
    study = made.study
    importances = study.importances()
    if importances:
        mattered = table("setting", ">mattered", "best trials")
        trials = study.ranked[:_BEST_SHOWN]
        for name, share in importances.items():
            values = ", ".join(_short(one.settings[name]) for one in trials)
            mattered.add_row(name, f"{100 * share:.0f} %", values)
        screen.print()
        screen.print(mattered)


def _test(record: FoldRecord) -> tuple[str, str]:
    from adasent.evaluation.metrics import record_report

    report = record_report(record)
    return f"{100 * report.accuracy:.2f}", f"{100 * report.macro_f1:.2f}"
