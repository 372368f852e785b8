"""The text format of Prometheus."""

from __future__ import annotations

from adasent.serve.metrics import Counter, Gauge, Histogram, Metrics


def test_counter_with_labels_that_need_escaping() -> None:
    counter = Counter("n_total", "How many.", ("path",))
    counter.add(1, 'a"b\\c\nd')
    counter.add(2, 'a"b\\c\nd')
    assert list(counter.lines()) == [
        "# HELP n_total How many.",
        "# TYPE n_total counter",
        'n_total{path="a\\"b\\\\c\\nd"} 3.0',
    ]


def test_gauge_is_read_when_asked() -> None:
    values = [1.0, 2.0]
    gauge = Gauge("now", "Now.", values.pop)
    assert list(gauge.lines())[-1] == "now 2.0"
    assert list(gauge.lines())[-1] == "now 1.0"


def test_histogram_is_cumulative_and_includes_its_bounds() -> None:
    histogram = Histogram("s", "Seconds.", [1, 2.5], ("path",))
    for value in (0.5, 1, 2, 9):
        histogram.observe(value, "/")
    assert list(histogram.lines())[2:] == [
        's_bucket{path="/",le="1"} 2',
        's_bucket{path="/",le="2.5"} 3',
        's_bucket{path="/",le="+Inf"} 4',
        's_sum{path="/"} 12.5',
        's_count{path="/"} 4',
    ]


def test_all_metrics_render() -> None:
    metrics = Metrics(pending=lambda: 3)
    metrics.batch(4, 0.01)
    text = metrics.render()
    assert "adasent_pending_requests 3\n" in text
    assert 'adasent_batch_texts_bucket{le="4"} 1\n' in text
    assert "adasent_batch_seconds_sum 0.01\n" in text
