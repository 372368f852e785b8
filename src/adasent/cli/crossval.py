"""``adasent crossval``: the scores of every fold of labelled texts, and their means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli import options
from adasent.cli.console import console, progress, say, table
from adasent.cli.groups import spread
from adasent.cli.reading import Reading
from adasent.cli.scores import say_notes
from adasent.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from adasent.data import Corpus
    from adasent.evaluation.metrics import Report
    from adasent.evaluation.records import FoldRecord
    from adasent.evaluation.several import SeveralReport


@spread
def crossval(
    data: options.Data,
    reading: Reading,
    training: options.Training,
    system: options.SystemName = "adasent",
    folds: Annotated[int, typer.Option(help="How many parts.")] = 10,
    grouped: Annotated[
        bool, typer.Option("--grouped", help="Keep texts of equal words in one fold.")
    ] = False,
    seeds: Annotated[str, typer.Option(help="Such as 0, 0-4 or 0,3; each has its folds.")] = "0",
    vectors: options.Vectors = None,
    encoder: options.Encoder = None,
    tune_encoder: options.TuneEncoder = False,
    tokenizer: options.Tokenizer = None,
    preset: options.Preset = None,
    assignments: options.Set = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Append a record of each fold (JSON lines); folds recorded there are not run.",
        ),
    ] = None,
) -> None:
    """Estimate how well unseen texts are labelled, by training and testing on folds.

    A set with an official split (TREC) is trained and tested on that, once
    for each seed, unless --grouped is given. Where a text may have several
    labels: micro and macro F1, and each class.

    \b
    Examples:
      adasent crossval reviews.csv --folds 5 --out folds.jsonl
      adasent crossval TREC --seeds 0-4 --vectors glove.txt.gz --preset paper
      adasent crossval reviews.csv --system nbsvm --set beta=0.5
    """
    settings = options.take_settings(system, preset, assignments, training)
    settings = options.with_tokenizer(tokenizer, settings)
    options.check_options(system, {"--vectors": vectors, "--encoder": encoder})
    options.take_encoder(encoder, tune_encoder, settings)
    if "random_state" in settings:
        raise ConfigError("--set random_state: every seed is a run of its own; use --seeds")
    chosen = options.parse_seeds(seeds)
    wanted = options.take_vectors(vectors, settings)
    corpus = reading.load(data)
    files = options.files_of(wanted, system, settings)
    from adasent.evaluation import metrics, several
    from adasent.evaluation.crossval import cross_validate

    rule = "grouped" if grouped else "random" if corpus.test is None else "official"
    n_runs = len(chosen) * (1 if rule == "official" else folds)

    screen = console()
    how = "its official split" if rule == "official" else f"{folds} {rule} folds"
    other = "" if system == "adasent" else f", {system}"
    screen.print(f"{corpus.name}: {len(corpus):,} texts, {how}{other}")
    # The bar and the lines must not fight for one terminal: they share a console if they can.
    bar = progress(screen if screen.is_terminal else console(stderr=True))
    reports: list[Any] = []
    score: Callable[[FoldRecord], Any] = metrics.record_report
    means, shown = metrics.MEANS, ("accuracy", "macro_f1")
    if corpus.multilabel:
        score, means = several.record_several, several.MEANS
        shown = ("micro_f1", "macro_f1")
    runs = cross_validate(
        corpus,
        settings,
        system=system,
        vectors=files,
        rule=rule,
        n_folds=folds,
        seeds=chosen,
        out=out,
    )
    try:
        with bar:
            task = bar.add_task(f"fold 1/{n_runs}", total=n_runs)
            for record, is_new in runs:
                report = score(record)
                epochs = f"  epoch {record.best_epoch + 1:2d} of {len(record.history):2d}"
                screen.print(
                    f"seed {record.seed}  fold {record.fold + 1:2d}/{record.n_folds}"
                    + "".join(f"  {means[n]} {100 * getattr(report, n):6.2f}" for n in shown)
                    + f"{epochs if record.history else ''}"
                    f"  {record.seconds:6.1f} s{'' if is_new else '  recorded before'}"
                )
                reports.append(report)
                following = min(len(reports) + 1, n_runs)
                bar.update(task, advance=1, description=f"fold {following}/{n_runs}")
    except KeyboardInterrupt:
        kept = f"{out}; the same command goes on from there" if out else "no file; see --out"
        console(stderr=True).print(
            f"stopped; {len(reports)} of {n_runs} folds are done and recorded in {kept}"
        )
        raise typer.Exit(130) from None

    what = "seeds" if rule == "official" else "folds"
    for name, title in means.items():
        screen.print(_mean_line(title, [getattr(report, name) for report in reports], what))
    screen.print()
    screen.print(_class_means(reports))
    if not corpus.multilabel:
        _say_advice(metrics.pooled(reports), corpus, system, settings)


def _say_advice(whole: Report, corpus: Corpus, system: str, settings: dict[str, Any]) -> None:
    """What to know of the figures of all folds together."""
    from adasent.evaluation import advice

    known = options.keywords(system)
    trained = {**known, **settings} if "class_weight" in known else None
    notes = advice.never_predicted(whole, trained)
    notes += advice.imbalance(corpus.labels, trained, remedy=not notes)  # they have the same one
    if notes:
        say()
    say_notes(notes)


def _mean_line(title: str, values: Sequence[float], what: str) -> str:
    """A figure of all folds: its mean, spread and interval."""
    from adasent.evaluation.summary import summarise

    total = summarise(values)
    line = f"{title} {100 * total.mean:.2f}"
    if total.sd is not None and total.low is not None and total.high is not None:
        line += (
            f" ± {100 * total.sd:.2f} (sd of {total.n} {what}), "
            f"95 % interval of the mean {100 * total.low:.2f} to {100 * total.high:.2f}"
        )
    return line


def _class_means(reports: Sequence[Report | SeveralReport]) -> Table:
    """Mean and spread of the figures of each class, over the folds whose test part has it."""
    from adasent.evaluation.summary import summarise

    shown = table("class", ">precision", ">recall", ">F1", ">texts")
    for i, one in enumerate(reports[0].classes):
        folds = [report.classes[i] for report in reports if report.classes[i].support]
        cells = []
        for name in ("precision", "recall", "f1"):
            total = summarise([100 * getattr(fold, name) for fold in folds])
            spread = "" if total.sd is None else f" ± {total.sd:.2f}"
            cells.append(f"{total.mean:.2f}{spread}")
        shown.add_row(str(one.label), *cells, f"{sum(fold.support for fold in folds):,}")
    return shown
