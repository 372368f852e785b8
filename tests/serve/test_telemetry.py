"""Requests as spans of OpenTelemetry."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Thread

import httpx
import pytest
from fastapi.testclient import TestClient

from adasent.errors import MissingDependencyError
from adasent.estimators.predictor import Predictor
from adasent.serve.app import create_app
from adasent.serve.server import Server, address, listen
from adasent.serve.telemetry import check_telemetry, instrument

exporters = pytest.importorskip(
    "opentelemetry.sdk.trace.export.in_memory_span_exporter",
    reason="needs OpenTelemetry: pip install 'adasent[telemetry]'",
)


def test_a_request_is_a_span(predictor: Predictor) -> None:
    memory = exporters.InMemorySpanExporter()
    app = create_app(predictor)
    shutdown = instrument(app, memory)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with TestClient(app) as client:
        for path in ("/v1/predict", "/v1/explain"):
            answer = client.post(path, json={"texts": ["a"]}, headers={"traceparent": parent})
            assert answer.status_code == 200
        client.get("/healthz")
    shutdown()
    spans = memory.get_finished_spans()
    assert [span.name for span in spans] == ["POST /v1/predict", "POST /v1/explain"]
    for span in spans:
        assert span.resource.attributes["service.name"] == "adasent"
        assert f"{span.context.trace_id:x}" == parent.split("-")[1].lstrip("0")
        assert 200 in span.attributes.values()


def test_what_is_left_is_sent_at_the_end(
    predictor: Predictor, wait_until: Callable[..., None]
) -> None:
    app = create_app(predictor)
    memory = exporters.InMemorySpanExporter()
    with listen("127.0.0.1", 0) as listening:
        server = Server(app, at_the_end=instrument(app, memory))
        thread = Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        httpx.get(f"{address(listening)}/v1/model", timeout=20)
        server.should_exit = True
        thread.join(20)
    assert [span.name for span in memory.get_finished_spans()] == ["GET /v1/model"]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.fastapi", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'adasent\[telemetry\]'"):
        check_telemetry()
