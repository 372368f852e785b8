"""What a scraper of ``/metrics`` reads."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from adasent.serve.metrics import Metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample by its name and labels."""
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(metrics.render().decode())
        for one in family.samples
    }


def test_names_and_labels() -> None:
    metrics = Metrics()
    metrics.pending(3)
    assert metrics.request("/", "GET", 200, 0.01) == ("/", "GET")
    metrics.texts_of("/v1/predict").inc(4)
    metrics.batch(4, 0.01)
    found = samples(metrics)
    assert {(name, tuple(key for key, _ in labels)) for name, labels in found} == {
        ("adasent_requests_total", ("method", "path", "status")),
        ("adasent_request_seconds_bucket", ("le", "path")),
        ("adasent_request_seconds_sum", ("path",)),
        ("adasent_request_seconds_count", ("path",)),
        ("adasent_texts_total", ("path",)),
        ("adasent_batch_texts_bucket", ("le",)),
        ("adasent_batch_texts_sum", ()),
        ("adasent_batch_texts_count", ()),
        ("adasent_batch_seconds_bucket", ("le",)),
        ("adasent_batch_seconds_sum", ()),
        ("adasent_batch_seconds_count", ()),
        ("adasent_pending_requests", ()),
    }
    assert found["adasent_texts_total", (("path", "/v1/predict"),)] == 4
    assert found["adasent_pending_requests", ()] == 3


def test_buckets_are_cumulative_and_include_their_bounds() -> None:
    metrics = Metrics()
    for n_texts in (1, 2, 3, 500):
        metrics.batch(n_texts, 0.004 * n_texts)
    found = samples(metrics)
    sizes = {
        float(labels[0][1]): value
        for (name, labels), value in found.items()
        if name == "adasent_batch_texts_bucket"
    }
    assert list(sizes) == [*(2**i for i in range(9)), float("inf")]
    assert [sizes[bound] for bound in (1, 2, 4, 256, float("inf"))] == [1, 2, 3, 3, 4]
    bounds = [labels[0][1] for name, labels in found if name == "adasent_batch_seconds_bucket"]
    assert bounds[:4] == ["0.001", "0.002", "0.004", "0.008"]
    assert bounds[-2:] == ["8.192", "+Inf"]


def test_two_services_do_not_share_their_counts() -> None:
    first, second = Metrics(), Metrics()
    second.pending(2)
    first.batch(4, 0.01)
    assert samples(first)["adasent_batch_texts_count", ()] == 1
    assert samples(second)["adasent_batch_texts_count", ()] == 0
    assert samples(second)["adasent_pending_requests", ()] == 2
