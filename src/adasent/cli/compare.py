"""``adasent compare``: saved models side by side on labelled texts, with paired tests."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli.console import console, say, table
from adasent.cli.groups import spread
from adasent.cli.options import Device, Json
from adasent.cli.parts import SplitOption, check_texts, read_part
from adasent.cli.reading import Reading
from adasent.cli.train_report import size_of
from adasent.errors import ConfigError
from adasent.estimators.labelling import open_model
from adasent.estimators.registry import saved_system

if TYPE_CHECKING:
    from adasent.data import Corpus
    from adasent.evaluation.compare import Pair, SideBySide

#: Texts before the clock starts: the first ones compile what there is to compile.
_WARM_UP = 64
#: Characters of a text in a line.
_WIDTH = 100


@spread
def compare(
    models: Annotated[
        list[Path], typer.Argument(metavar="DIR DIR ...", help="Folders of trained models.")
    ],
    data: Annotated[
        str,
        typer.Option("--data", metavar="DATA", help="Labelled texts: a registered set, or a file."),
    ],
    reading: Reading,
    device: Device = None,
    split: SplitOption = None,
    examples: Annotated[
        int, typer.Option(min=0, help="Texts to show that only one model gets right, of each.")
    ] = 3,
    as_json: Json = False,
) -> None:
    """Compare models on the same texts: scores, size, speed, paired tests.

    The models may be of any systems. Give texts that none was trained on.
    Whether a difference is more than chance is tested by pairs: McNemar's test
    and a bootstrap of the texts.

    \b
    Examples:
      adasent compare model baseline --data held-out.csv
      adasent compare trec trec-nbsvm --data TREC --examples 5
    """
    from adasent.evaluation.compare import side_by_side

    names = _names(models)
    corpus, part = read_part(reading, data, split)
    corpus.need_one_label("comparing")
    facts: dict[str, dict[str, Any]] = {}
    predicted: dict[str, list[Any]] = {}
    for name, folder in zip(names, models, strict=True):
        labeller = open_model(folder, device)
        check_texts(labeller, corpus, part)
        labeller.predict(corpus.texts[:_WARM_UP])
        started = time.perf_counter()
        predicted[name] = labeller.predict(corpus.texts).tolist()
        seconds = time.perf_counter() - started
        facts[name] = {
            "system": saved_system(folder),
            "size": size_of(folder),
            "texts_per_second": len(corpus) / seconds,
        }
    found = side_by_side(corpus.labels, predicted)
    if as_json:
        say(json.dumps(_values(found, facts, data, corpus, part), indent=1))
        return
    _print(found, facts, corpus)
    for name in names:
        _show_alone(name, found.alone[name], predicted, corpus, examples)


def _names(folders: list[Path]) -> list[str]:
    """The shortest that tell the folders apart: their own names, or else their paths."""
    if len(folders) < 2:
        raise ConfigError("expected at least two folders of models to compare")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ConfigError("a folder is given twice; give each model once")
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else list(map(str, folders))


def _print(found: SideBySide, facts: dict[str, dict[str, Any]], corpus: Corpus) -> None:
    out = console()
    n_models = len(found.reports)
    say(f"{corpus.name}: {len(corpus):,} texts, {n_models} models")
    say()
    figures = table(
        "model",
        "system",
        ">accuracy",
        ">macro F1",
        ">balanced",
        ">size",
        ">texts/s",
        ">alone right",
    )
    for name, report in found.reports.items():
        own = facts[name]
        scores = (report.accuracy, report.macro_f1, report.balanced_accuracy)
        figures.add_row(
            name,
            own["system"],
            *(f"{score:.4f}" for score in scores),
            own["size"],
            f"{own['texts_per_second']:,.0f}",
            f"{len(found.alone[name]):,}",
        )
    out.print(figures)
    say()
    say(f"all right on {found.n_all_right:,} texts, none on {found.n_none_right:,}")
    say()
    for pair in found.pairs:
        say(_sentence(pair))
    if len(found.pairs) > 1:
        say(f"{len(found.pairs)} pairs were tested: one in twenty differs by chance alone")


def _sentence(pair: Pair) -> str:
    """A pair in two lines."""
    mcnemar, bootstrap = pair.tests.mcnemar, pair.tests.bootstrap
    verdict = "more than chance" if pair.tests.supported else "may be chance"
    return (
        f"{pair.first} - {pair.second}: {100 * bootstrap.difference:+.2f} points, "
        f"95 % interval {100 * bootstrap.low:+.2f} to {100 * bootstrap.high:+.2f}; "
        f"McNemar's p = {mcnemar.p:.2g}: {verdict}\n"
        f"  same label on {100 * pair.agreement:.1f} % of texts; right alone: "
        f"{mcnemar.n_first:,} and {mcnemar.n_second:,}"
    )


def _show_alone(
    name: str, rows: list[int], predicted: dict[str, list[Any]], corpus: Corpus, most: int
) -> None:
    """A few of the texts that only one model has right."""
    if not rows or not most:
        return
    say(f"\nonly {name} is right")
    for i in rows[:most]:
        line = " ".join(corpus.texts[i].split())
        shown = line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
        others = ", ".join(f"{other}: {of[i]}" for other, of in predicted.items() if other != name)
        say(f"  {shown}\n    {corpus.labels[i]}; {others}")


def _values(
    found: SideBySide, facts: dict[str, dict[str, Any]], data: str, corpus: Corpus, part: str
) -> dict[str, Any]:
    """Everything as JSON values."""
    models = {
        name: facts[name] | report.to_dict() | {"alone_right": found.alone[name]}
        for name, report in found.reports.items()
    }
    return {
        "data": data,
        "sha256": corpus.sha256,
        "part": part,
        "n_all_right": found.n_all_right,
        "n_none_right": found.n_none_right,
        "models": models,
        "pairs": [pair.to_dict() for pair in found.pairs],
    }
