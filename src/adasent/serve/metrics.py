"""Counts and times of the service, written as Prometheus reads them (text format 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[str, ...]
Sample = tuple[str, list[tuple[str, str]], float]  # suffix of the name, labels, value


class Metric:
    """A named series for each combination of labels."""

    kind = "untyped"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.text = text
        self.labels = tuple(labels)

    def lines(self) -> Iterator[str]:
        """The metric as Prometheus reads it."""
        yield f"# HELP {self.name} {self.text}"
        yield f"# TYPE {self.name} {self.kind}"
        for suffix, labels, value in self.samples():
            inside = ",".join(f'{key}="{_escape(text)}"' for key, text in labels)
            braced = f"{{{inside}}}" if inside else ""
            yield f"{self.name}{suffix}{braced} {value!r}"

    def samples(self) -> Iterator[Sample]:
        """A sample for each series."""
        raise NotImplementedError

    def _named(self, values: Labels) -> list[tuple[str, str]]:
        return list(zip(self.labels, values, strict=True))


class Counter(Metric):
    """A number that only grows."""

    kind = "counter"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, text, labels)
        self._values: dict[Labels, float] = defaultdict(float)

    def add(self, amount: float, *labels: str) -> None:
        """Count."""
        self._values[labels] += amount

    def samples(self) -> Iterator[Sample]:
        """One series for each combination of labels met so far."""
        for labels, value in sorted(self._values.items()):
            yield "", self._named(labels), value


class Gauge(Metric):
    """A number that is looked up when it is asked for."""

    kind = "gauge"

    def __init__(self, name: str, text: str, read: Callable[[], float]) -> None:
        super().__init__(name, text)
        self._read = read

    def samples(self) -> Iterator[Sample]:
        """The present value."""
        yield "", [], self._read()


class Histogram(Metric):
    """How many values were at most this large.

    Parameters
    ----------
    bounds
        Upper bounds of the buckets, growing.
    """

    kind = "histogram"

    def __init__(
        self, name: str, text: str, bounds: Sequence[float], labels: Sequence[str] = ()
    ) -> None:
        super().__init__(name, text, labels)
        self.bounds = list(bounds)
        self._counts: dict[Labels, list[int]] = defaultdict(lambda: [0] * (len(self.bounds) + 1))
        self._sums: dict[Labels, float] = defaultdict(float)

    def observe(self, value: float, *labels: str) -> None:
        """Count a value."""
        self._counts[labels][bisect_left(self.bounds, value)] += 1
        self._sums[labels] += value

    def samples(self) -> Iterator[Sample]:
        """Cumulative buckets, sum and count."""
        bounds = [*(f"{bound:g}" for bound in self.bounds), "+Inf"]
        for labels, counts in sorted(self._counts.items()):
            named = self._named(labels)
            for bound, total in zip(bounds, accumulate(counts), strict=True):
                yield "_bucket", [*named, ("le", bound)], total
            yield "_sum", named, self._sums[labels]
            yield "_count", named, sum(counts)


class Metrics:
    """All that the service counts.

    Parameters
    ----------
    pending
        Looks up the number of unanswered requests.
    """

    def __init__(self, pending: Callable[[], float]) -> None:
        seconds = [0.001 * 2**i for i in range(14)]  # a millisecond to 8 seconds
        sizes = [float(2**i) for i in range(9)]
        self.requests = Counter(
            "adasent_requests_total", "Answered requests.", ("path", "method", "status")
        )
        self.seconds = Histogram(
            "adasent_request_seconds", "Time to the answer.", seconds, ("path",)
        )
        self.texts = Counter("adasent_texts_total", "Texts computed.", ("path",))
        self.batch_texts = Histogram("adasent_batch_texts", "Texts of a batch.", sizes)
        self.batch_seconds = Histogram("adasent_batch_seconds", "Time of a batch.", seconds)
        self.pending = Gauge("adasent_pending_requests", "Unanswered requests.", pending)

    def batch(self, n_texts: int, seconds: float) -> None:
        """Count a batch."""
        self.batch_texts.observe(n_texts)
        self.batch_seconds.observe(seconds)

    def render(self) -> str:
        """Everything, in the text format."""
        return "".join(f"{line}\n" for metric in vars(self).values() for line in metric.lines())


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
