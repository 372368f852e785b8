"""What the GPU scripts wrote -> benchmarks/results/gpu.csv -> the tables of docs/speed.md.

    python benchmarks/gpu_results.py [FOLDER]

FOLDER holds gpu_pyramid.json, stacked.jsonl and gpu_crossval.jsonl, or some of them; rows of the
CSV that they do not measure anew stay. Without FOLDER the tables are made from the CSV as it is.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

from benchmarks.device import read_lines  # noqa: E402
from benchmarks.pages import markdown, put_between_marks  # noqa: E402

CSV = ROOT / "benchmarks" / "results" / "gpu.csv"
PAGE = ROOT / "docs" / "speed.md"
COLUMNS = ["what", "shape", "variant", "p20", "median", "p80", "unit", "device", "torch", "commit"]
SINGLE = "K=1 B=64"
NONE_YET = "No record yet: `make bench-gpu` makes one."

GpuRow = dict[str, Any]


# Files of a run -> rows.


def pyramid_rows(report: GpuRow) -> list[GpuRow]:
    """Errors, ceilings and times of ``gpu_pyramid.json``."""
    rows: list[GpuRow] = list(_worst_errors(report["checks"]))
    for name, value in report["ceilings"].items():
        unit = "TFLOP/s" if "TFLOP" in name else "GB/s"
        rows.append({"what": "ceiling", "variant": name, "median": value, "unit": unit})
    return rows + report["rows"]


def _worst_errors(checks: Iterable[GpuRow]) -> Iterable[GpuRow]:
    """For each mode and output the largest error of all sizes and lengths, and of its bound."""
    worst: dict[tuple[str, str, str, str], float] = {}
    for check in checks:
        if "of_bound" not in check:
            continue
        kinked = (check["activation"], check["pooling"]) != ("tanh", "mean")
        kind = "maximum or relu" if kinked else "smooth"
        for unit, found in (("of size", check["errors"]), ("of bound", check["of_bound"])):
            for name, value in found.items():
                key = (kind, check["mode"], name, unit)
                worst[key] = max(worst.get(key, 0.0), value)
    for (kind, mode, name, unit), value in worst.items():
        row = {"what": "error", "shape": kind, "variant": f"{mode} {name}", "unit": unit}
        yield {**row, "median": value}


def stacked_rows(lines: Iterable[GpuRow]) -> Iterable[GpuRow]:
    """Updates a second of ``stacked.jsonl``."""
    for line in lines:
        if "updates_per_s" in line:
            steps = "recorded steps" if line["graph"] else "plain steps"
            variant = f"N={line['gate_groups']}: {steps}"
            rates = sorted(line["updates_per_s"][1:])  # the first epoch compiles and records
            row = {"what": "training", "shape": f"K={line['models']} B=50", "variant": variant}
            spread = {"p20": rates[0], "median": rates[len(rates) // 2], "p80": rates[-1]}
            yield {**row, **spread, "unit": "updates/s"}


def crossval_rows(lines: Iterable[GpuRow]) -> Iterable[GpuRow]:
    """Seconds and accuracies of ``gpu_crossval.jsonl``."""
    for line in lines:
        if line["what"] == "crossval":
            shape = f"{line['data']}, {line['folds']} folds, {line['epochs']} epochs"
            row = {"what": "crossval", "shape": shape, "variant": line["run"]}
            yield {**row, "median": line["seconds"], "unit": "s"}
            yield {**row, "median": line["accuracy"], "unit": "%"}
        elif "here" in line:
            shape = f"{line['data']}, {line['vectors']}, {line['runs']} runs"
            row = {"what": "accuracy", "shape": shape}
            recorded = f"recorded on {line['recorded_on']}"
            for where, variant in (("here", "here"), ("recorded", recorded)):
                yield {**row, "variant": variant, "median": line[where], "unit": "%"}
                yield {**row, "variant": variant, "median": line[f"{where}_sd"], "unit": "% sd"}


def rows_of(folder: Path) -> list[GpuRow]:
    """All measurements of a run, with who measured them."""
    rows: list[GpuRow] = []
    report = folder / "gpu_pyramid.json"
    sources: list[tuple[Iterable[GpuRow], GpuRow]] = []
    if report.exists():
        found = json.loads(report.read_text())
        sources.append((pyramid_rows(found), found))
    for name, make in (("stacked", stacked_rows), ("gpu_crossval", crossval_rows)):
        lines = read_lines(folder / f"{name}.jsonl")
        if lines:
            sources.append((make(lines), lines[0]))
    for made, about in sources:
        common = {name: about[name] for name in ("device", "torch", "commit")}
        rows += [dict.fromkeys(COLUMNS, "") | row | common for row in made]
    return rows


def read_csv(path: Path) -> list[GpuRow]:
    """All rows, text as it is."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_csv(path: Path, rows: list[GpuRow]) -> None:
    """Put rows into the CSV in place of those that measured the same; others stay."""
    renewed = {row["what"] for row in rows}
    kept = [row for row in read_csv(path) if row["what"] not in renewed] if path.exists() else []
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *rows])


# Rows -> tables.


def _values(rows: list[GpuRow], what: str) -> dict[tuple[str, str, str], float]:
    """(shape, variant, unit) -> value."""
    own = [row for row in rows if row["what"] == what]
    return {(row["shape"], row["variant"], row["unit"]): float(row["median"]) for row in own}


#: Columns of the table of times, by the second half of a variant: heading, and how it is written.
COLUMNS_OF_TIMES: dict[str, tuple[str, Callable[[float], str]]] = {
    "eager": ("eager, ms", "{:.1f}".format),
    "without gradient": ("levels only, ms", "{:.2f}".format),
    "forward": ("forward, ms", "{:.2f}".format),
    "backward": ("backward, ms", "{:.2f}".format),
    "both": ("both, ms", "{:.2f}".format),
    "both, as a graph": ("both as a graph, ms", "{:.2f}".format),
    "of TF32 products": ("of TF32 products", "{:.1%}".format),  # before bfloat16
    "of products": ("of products", "{:.1%}".format),
    "of a copy": ("of a copy", "{:.1%}".format),
    "peak": ("peak, MB", "{:,.0f}".format),
}


def speed(rows: list[GpuRow]) -> str:
    """One line for each shape and kind of gate, one column for each time that was taken."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for (shape, variant, _), value in _values(rows, "pyramid").items():
        kind, name = variant.split(": ")
        found.setdefault((shape, kind), {})[name] = value
    if not found:
        return NONE_YET
    names = [name for name in COLUMNS_OF_TIMES if any(name in line for line in found.values())]
    body = []
    for (shape, kind), line in found.items():
        cells = [COLUMNS_OF_TIMES[name][1](line[name]) if name in line else "" for name in names]
        body.append([shape, kind, *cells])
    heading = "Medians; K models of B sentences, D = 100, lengths like those of MR."
    header = ["shape", "gates", *(COLUMNS_OF_TIMES[n][0] for n in names)]
    return f"{heading}\n\n{markdown(header, body)}"


def rates(rows: list[GpuRow]) -> str:
    """Training and prediction end to end."""
    body = []
    for what, label in (("training", "training"), ("prediction", "prediction")):
        for (shape, variant, unit), rate in _values(rows, what).items():
            body.append([f"{label}, {shape}", variant, f"{rate:,.0f} {unit}"])
    return markdown(["what", "how", "median"], body) if body else NONE_YET


def accuracy(rows: list[GpuRow]) -> str:
    """The largest errors of each mode."""
    found = _values(rows, "error")
    if not found:
        return NONE_YET
    modes = dict.fromkeys(variant.split()[0] for _, variant, _ in found)
    body = []
    for mode in modes:
        own = {key: value for key, value in found.items() if key[1].split()[0] == mode}
        levels = own["smooth", f"{mode} levels", "of size"]
        gradients, kinked = (
            max(
                value
                for (shape, variant, unit), value in own.items()
                if (shape, unit) == (kind, "of size") and not variant.endswith("levels")
            )
            for kind in ("smooth", "maximum or relu")
        )
        share = max(value for (_, _, unit), value in own.items() if unit == "of bound")
        errors = [f"{value:.1e}" for value in (levels, gradients, kinked)]
        body.append([mode, *errors, f"{100 * share:.0f} %"])
    header = ["mode", "levels", "gradients", "with a maximum or relu", "nearest to its bound"]
    return markdown(header, body)


def folds(rows: list[GpuRow]) -> str:
    """Cross-validation: seconds, and accuracy beside that of the records."""
    taken, scores = _values(rows, "crossval"), _values(rows, "accuracy")
    if not taken and not scores:
        return NONE_YET
    body = []
    for (shape, run, unit), value in taken.items():
        if unit == "s":
            kernels = "kernels compiled first" if run == "first" else "the same again"
            score = f"{taken[shape, run, '%']:.2f} %"
            body.append([f"{shape}: {kernels}", f"{value:.1f} s", score, ""])
    for shape in dict.fromkeys(shape for shape, _, _ in scores):
        texts = {
            where: f"{mean:.2f} ± {scores[of, where, '% sd']:.2f} %"
            for (of, where, unit), mean in scores.items()
            if of == shape and unit == "%"
        }
        here = texts.pop("here")
        (recorded,) = (f"{text}, {where}" for where, text in texts.items())
        body.append([f"{shape}, default settings", "", here, recorded])
    return markdown(["what", "wall time", "accuracy", "the records"], body)


def origin(rows: list[GpuRow]) -> str:
    """Device, version and commit of what was measured."""
    kinds: dict[str, list[str]] = {}
    for row in rows:
        names = kinds.setdefault(
            f"{row['device']}, torch {row['torch']}, commit {row['commit']}", []
        )
        if row["what"] not in names:
            names.append(row["what"])
    return "\n".join(f"- {', '.join(names)}: measured on {kind}." for kind, names in kinds.items())


TABLES: dict[str, Callable[[list[GpuRow]], str]] = {
    "gpu": speed,
    "gpu-rates": rates,
    "gpu-errors": accuracy,
    "gpu-crossval": folds,
    "gpu-origin": origin,
}


def fill(page: str, rows: list[GpuRow]) -> str:
    """Replace what stands between the marks of each table."""
    for name, make in TABLES.items():
        page = put_between_marks(page, name, "gpu_results.py", make(rows))
    return page


def main(arguments: list[str]) -> None:
    """Write the CSV, if a folder is given, and the tables."""
    if arguments:
        write_csv(CSV, rows_of(Path(arguments[0])))
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_csv(CSV)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
