"""Words that a model does not know, by the extra words that it keeps -> a table of docs/vectors.md.

    ADASENT_DATA=mirror python benchmarks/unseen.py

The dev part of the first fold of each set, read as the paper's experiments read it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

from adasent.evaluation.jobs import Job  # noqa: E402
from adasent.text.vocabulary import UNK_ID  # noqa: E402
from benchmarks.pages import markdown, put_between_marks  # noqa: E402
from reproduction.jobs import Jobs  # noqa: E402

PAGE = ROOT / "docs" / "vectors.md"
SETS = ("MPQA", "CR", "TREC", "MR")
EXTRA = {"0": 0, "10,000": 10_000, "30,000": 30_000, "all": 10_000_000}


def shares(job: Job, extra_words: int) -> str:
    """Of words that are unknown, of texts with one, and of texts without any other."""
    estimator = job.estimator({"extra_words": extra_words})
    assert job.dev is not None
    encoded = estimator.encode(*job.part(job.train), validation=job.part(job.dev))
    assert encoded.validation is not None
    unknown = [ids == UNK_ID for ids in encoded.validation.ids]
    found = (
        np.mean(np.concatenate(unknown)),
        np.mean([text.any() for text in unknown]),
        np.mean([text.all() for text in unknown]),
    )
    return ", ".join(f"{100 * share:.1f} %" for share in found)


def main() -> None:
    """Read, count and fill in."""
    jobs = Jobs()
    runs = {data: jobs.plan.runs("table2", [data], ["adasent"])[0] for data in SETS}
    rows = [
        [name, *(shares(jobs.job(runs[data]), extra) for data in SETS)]
        for name, extra in EXTRA.items()
    ]
    table = markdown(["`extra_words`", *SETS], rows)
    print(table)
    page = put_between_marks(PAGE.read_text("utf-8"), "unseen", Path(__file__).name, table)
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
