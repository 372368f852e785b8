"""``adasent crossval``: the accuracy of every fold of labelled texts, and the mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adasent.cli import options
from adasent.cli.console import console, progress
from adasent.errors import ConfigError


def crossval(
    data: options.Data,
    system: options.SystemName = "adasent",
    folds: Annotated[int, typer.Option(help="How many parts.")] = 10,
    grouped: Annotated[
        bool, typer.Option("--grouped", help="Keep texts of equal words in one fold.")
    ] = False,
    seeds: Annotated[str, typer.Option(help="Such as 0, 0-4 or 0,3; each has its folds.")] = "0",
    vectors: options.Vectors = None,
    tokenizer: options.TokenizerName = "words",
    preset: options.Preset = None,
    assignments: options.Set = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Append a record of each fold (JSON lines); folds recorded there are not run.",
        ),
    ] = None,
    text: options.Text = None,
    label: options.LabelColumn = None,
    encoding: options.Encoding = "utf-8",
) -> None:
    """Estimate the accuracy on unseen texts by training and testing on folds.

    A set with an official split (TREC) is trained and tested on that, once
    for each seed, unless --grouped is given.

    \b
    Examples:
      adasent crossval reviews.csv --folds 5 --out folds.jsonl
      adasent crossval TREC --seeds 0-4 --vectors wiki-50d --preset paper
      adasent crossval reviews.csv --system nbsvm --set beta=0.5
    """
    from adasent.data import load
    from adasent.evaluation.crossval import cross_validate
    from adasent.evaluation.summary import summarise

    settings = {"tokenizer": tokenizer} | options.take_settings(system, preset, assignments)
    options.check_options(system, {"--vectors": vectors})
    if "random_state" in settings:
        raise ConfigError("--set random_state: every seed is a run of its own; use --seeds")
    chosen = options.parse_seeds(seeds)
    files = options.take_vectors(vectors, settings)
    corpus = load(data, text=text, label=label, encoding=encoding)
    rule = "grouped" if grouped else "random" if corpus.test is None else "official"
    n_runs = len(chosen) * (1 if rule == "official" else folds)

    screen = console()
    how = "its official split" if rule == "official" else f"{folds} {rule} folds"
    other = "" if system == "adasent" else f", {system}"
    screen.print(f"{corpus.name}: {len(corpus):,} texts, {how}{other}")
    # The bar and the lines must not fight for one terminal: they share a console if they can.
    bar = progress(screen if screen.is_terminal else console(stderr=True))
    accuracies: list[float] = []
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
                epochs = f"  epoch {record.best_epoch + 1:2d} of {len(record.history):2d}"
                screen.print(
                    f"seed {record.seed}  fold {record.fold + 1:2d}/{record.n_folds}"
                    f"  accuracy {100 * record.accuracy:6.2f}{epochs if record.history else ''}"
                    f"  {record.seconds:6.1f} s{'' if is_new else '  recorded before'}"
                )
                accuracies.append(record.accuracy)
                following = min(len(accuracies) + 1, n_runs)
                bar.update(task, advance=1, description=f"fold {following}/{n_runs}")
    except KeyboardInterrupt:
        kept = f"{out}; the same command goes on from there" if out else "no file; see --out"
        console(stderr=True).print(
            f"stopped; {len(accuracies)} of {n_runs} folds are done and recorded in {kept}"
        )
        raise typer.Exit(130) from None

    total = summarise(accuracies)
    what = "seeds" if rule == "official" else "folds"
    line = f"accuracy {100 * total.mean:.2f}"
    if total.sd is not None and total.low is not None and total.high is not None:
        line += (
            f" ± {100 * total.sd:.2f} (sd of {total.n} {what}), "
            f"95 % interval of the mean {100 * total.low:.2f} to {100 * total.high:.2f}"
        )
    screen.print(line)
