"""Traces of requests through OpenTelemetry, by its own instrumentation of FastAPI.

Where they go and how many is set by the standard variables ``OTEL_*``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from adasent.errors import require

_MODULES = (
    "opentelemetry.instrumentation.fastapi",
    "opentelemetry.sdk.trace.export",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
)


def check_telemetry() -> None:
    """Say which extra to install, where it is missing."""
    for module in _MODULES:
        require(module, "telemetry", "--telemetry")


def instrument(app: FastAPI, exporter: Any = None) -> Callable[[], None]:
    """Trace the requests of an application; what is returned sends what is left, at the end.

    ``exporter`` takes the spans, by default to where ``OTEL_EXPORTER_OTLP_ENDPOINT`` says.
    """
    check_telemetry()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = "OTEL_SERVICE_NAME" in os.environ
    resource = Resource.create({} if named else {"service.name": "adasent"})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
    FastAPIInstrumentor.instrument_app(
        app,
        tracer_provider=provider,
        excluded_urls=os.environ.get("OTEL_PYTHON_FASTAPI_EXCLUDED_URLS", "healthz,metrics"),
        exclude_spans=["receive", "send"],
    )
    shutdown: Callable[[], None] = provider.shutdown
    return shutdown
