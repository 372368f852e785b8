"""A file of texts for a person to label: CSV that ``adasent train`` reads when it is filled in."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from adasent.cli.console import console
from adasent.cli.options import new_file
from adasent.cli.outputs import open_target
from adasent.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np

#: The label is left empty; what the model says stands beside it.
COLUMNS = ("text", "label", "guess", "confidence", "row")


class ToLabel(NamedTuple):
    """A text that a person is to label."""

    text: str
    guess: Any  # the model's most probable label
    confidence: float  # its probability
    row: int  # of the input, counted from 0


class Writer:
    """Writes texts to an open file."""

    def __init__(self, file: IO[str]) -> None:
        self._csv = csv.writer(file, lineterminator="\n")
        self._csv.writerow(COLUMNS)
        self.n_written = 0

    def write(self, found: Iterable[ToLabel]) -> None:
        """A line for each."""
        for one in found:
            self._csv.writerow([one.text, "", one.guess, f"{one.confidence:.4f}", one.row])
            self.n_written += 1


@contextmanager
def file_to_label(path: Path | None) -> Iterator[Writer]:
    """A writer to a file that is there when the block ends without an error, and not before.

    None is standard output.
    """
    with open_target(path) as stream:
        file = TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield Writer(file)
        finally:
            file.detach()  # which writes what is left, and leaves the stream open


class Unsure:
    """Takes the labels from texts that a model is not sure of, and writes these to be looked at.

    It is a context: the file is there when the block ends without an error.

    Parameters
    ----------
    min_confidence
        The least probability of a label; None keeps all of them.
    review
        Where to write the texts; None does not.
    """

    def __init__(
        self, min_confidence: float | None, review: Path | None, force: bool = False
    ) -> None:
        if review is not None and min_confidence is None:
            raise ConfigError(f"--review {review}: say below which probability; --min-confidence P")
        if review is not None:
            new_file(review, force, "--review")
        self.min_confidence = min_confidence
        self.review = review
        self.n_texts = self.n_unsure = 0
        self._stack = ExitStack()
        self._writer: Writer | None = None

    def __enter__(self) -> Self:
        if self.review is not None:
            self._writer = self._stack.enter_context(file_to_label(self.review))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def labels(
        self,
        rows: Sequence[int],
        texts: Sequence[str],
        probabilities: np.ndarray,
        classes: np.ndarray,
    ) -> np.ndarray:
        """A label for each text, or None; ``rows`` are the numbers of the texts in the input."""
        from adasent.estimators.confidence import sure_labels

        assert self.min_confidence is not None  # else no label is taken away
        guesses: list[Any] = classes[probabilities.argmax(axis=1)].tolist()
        found = sure_labels(probabilities, classes, self.min_confidence)
        unsure = [i for i, label in enumerate(found) if label is None]
        self.n_texts += len(found)
        self.n_unsure += len(unsure)
        if self._writer is not None:
            confidence = probabilities.max(axis=1).tolist()
            self._writer.write(
                ToLabel(texts[i], guesses[i], confidence[i], rows[i]) for i in unsure
            )
        return found

    def tell(self) -> None:
        """On standard error, how many texts got no label."""
        if self.min_confidence is None:
            return
        where = f", written to {self.review}" if self.review is not None else ""
        line = f"{self.n_unsure:,} of {self.n_texts:,} texts got no label{where}"
        console(stderr=True).print(line, soft_wrap=True)
