"""What the GPU scripts wrote -> benchmarks/results/gpu.csv and the table of docs/speed.md.

    python benchmarks/gpu_results.py FOLDER     (with gpu_pyramid.json and stacked.jsonl in it)

The machine with the GPU may have nothing but torch and triton: it measures, this one tabulates.
Without FOLDER the table is made anew from the CSV.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CSV = ROOT / "benchmarks" / "results" / "gpu.csv"
PAGE = ROOT / "docs" / "speed.md"
COLUMNS = ["what", "shape", "variant", "p20", "median", "p80", "unit", "device", "torch", "commit"]
BEGIN, END = "<!-- gpu: made by benchmarks/gpu_results.py -->", "<!-- end of gpu -->"


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """All measurements of a run."""
    lines = (folder / "stacked.jsonl").read_text().splitlines()
    stacked = [json.loads(line) for line in lines]
    commit = stacked[0]["commit"]
    pyramid = json.loads((folder / "gpu_pyramid.json").read_text())
    common = {"device": pyramid["device"], "torch": pyramid["torch"], "commit": commit}
    rows: list[dict[str, Any]] = []
    for name, value in pyramid["ceilings"].items():
        unit = "TFLOP/s" if "TFLOP" in name else "GB/s"
        rows.append({"what": "ceiling", "variant": name, "median": value, "unit": unit})
    for shape, times in pyramid["times"].items():
        for variant, taken in times["milliseconds"].items():
            if isinstance(taken, list):
                spread = dict(zip(("p20", "median", "p80"), taken, strict=True))
                rows.append(
                    {"what": "pyramid", "shape": shape, "variant": variant, **spread, "unit": "ms"}
                )
        for name in ("share_of_tf32", "share_of_copy"):
            share = times.get(name, times.get("reached", {}).get(name))
            if share is not None:
                rows.append({"what": "ceiling", "shape": shape, "variant": name, "median": share})
    for row in stacked:
        if row["what"] == "training" and "updates_per_s" in row:
            shape = f"K={row['models']} B=50"
            variant = "recorded steps" if row["graph"] else "plain steps"
            rate = sorted(row["updates_per_s"][1:])  # the first epoch compiles and records
            what = {"what": "training", "shape": shape, "variant": variant}
            middle = rate[len(rate) // 2]
            rows.append(
                {**what, "p20": rate[0], "median": middle, "p80": rate[-1], "unit": "updates/s"}
            )
    return [dict.fromkeys(COLUMNS, "") | row | common for row in rows]


def table(rows: list[dict[str, str]]) -> str:
    """The lines a reader wants, in Markdown."""
    found = {(row["what"], row["shape"], row["variant"]): row for row in rows}

    def value(*key: str) -> float:
        return float(found[key]["median"])

    eager, single = "eager packed", "K=1 B=64"
    lines = [
        "| what | median | |",
        "|---|---|---|",
    ]
    base = value("pyramid", single, eager)
    lines.append(f"| one model, 64 sentences, forward and backward: eager | {base:.1f} ms | 1x |")
    for variant, text in (("default", "fused"), ("default as CUDA graph", "fused, as a graph")):
        taken = value("pyramid", single, variant)
        lines.append(f"| the same, {text} | {taken:.2f} ms | {base / taken:.0f}x |")
    taken = value("pyramid", "K=50 B=50", "default as CUDA graph")
    lines.append(f"| 50 models, 2,500 sentences, fused, as a graph | {taken:.2f} ms | |")
    shares = [("ceiling", "K=50 B=50", name) for name in ("share_of_tf32", "share_of_copy")]
    if all(key in found for key in shares):
        flops, copies = (100 * float(found[key]["median"]) for key in shares)
        lines.append(f"| of that, share of the ceilings measured in the same run | {flops:.1f} % "
                     f"of TF32 products, {copies:.1f} % of a copy | |")  # fmt: skip
    for models in (1, 50):
        key = ("training", f"K={models} B=50", "recorded steps")
        if key in found:
            rate = float(found[key]["median"])
            lines.append(f"| training {models} model{'s' * (models > 1)}, end to end | "
                         f"{rate:,.0f} updates/s | |")  # fmt: skip
    where = f"{rows[0]['device']}, torch {rows[0]['torch']}, commit {rows[0]['commit']}"
    return f"{where}; D = 100, lengths like MR's, TF32 products.\n\n" + "\n".join(lines)


def main() -> None:
    """Write the CSV, if a folder is given, and the table."""
    if sys.argv[1:]:
        with CSV.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows_of(Path(sys.argv[1])))
    with CSV.open(newline="") as file:
        text = table(list(csv.DictReader(file)))
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
