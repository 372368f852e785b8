"""Makes an ASGI application of a predictor: the page, the API and its metrics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from adasent.errors import AdaSentError, ConfigError
from adasent.estimators.predictor import Predictor
from adasent.export.about import about_model
from adasent.serve import schemas
from adasent.serve.batching import Batcher, Work
from adasent.serve.feedback import FeedbackFile, feedback_model
from adasent.serve.hosts import KnownHosts
from adasent.serve.limits import Gate, Limits, Refused, read_body, texts_model
from adasent.serve.metrics import CONTENT_TYPE, Instrument, Metrics
from adasent.serve.work import Explain, Predict
from adasent.version import __version__

STATIC = Path(__file__).parent / "static"

_REASONS = {
    400: "The body is not JSON in UTF-8.",
    408: "The body came too slowly.",
    413: "Too many texts, or one too long.",
    415: "Not announced as JSON.",
    422: "A text that is blank, or something else that was not asked for.",
    500: "The model cannot answer, such as one whose weights are far too large.",
    503: "Too many requests wait, or the service stops; see Retry-After.",
}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Problem, "description": text} for status, text in _REASONS.items()
}

_NOT_STORED: dict[int | str, dict[str, Any]] = {
    500: {"model": schemas.Problem, "description": "The label could not be written to the file."}
}


class Stopping(Refused):
    """The answer to requests that the service gives up when it stops."""

    def __init__(self) -> None:
        super().__init__(503, "the service is stopping; try again when it is back", retry_after=5)


class Service:
    """The endpoints and what they share; the page calls the model by the name."""

    def __init__(
        self, predictor: Predictor, name: str, limits: Limits, feedback: FeedbackFile | None = None
    ) -> None:
        if feedback is not None and predictor.thresholds_ is not None:
            raise ConfigError(
                "feedback takes one label a text, and this model gives a text several; leave it out"
            )
        self.predictor = predictor
        self.name = name
        self.limits = limits
        self.feedback_file = feedback
        self.stopping = False  # True once no more requests are accepted
        self.gate = Gate(limits)
        self.metrics = Metrics(pending=lambda: self.gate.n_requests)
        self.batcher = Batcher(self.metrics.batch)
        self._predict = Predict(predictor)
        self._explain = Explain(predictor, limits.max_explained_words)
        self.predict_body = texts_model(limits.max_texts, limits.max_chars)
        self.explain_body = texts_model(limits.max_explained, limits.max_chars)
        self.feedback_body = feedback_model(self._predict.classes, limits.max_chars)

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Threads run while the application does."""
        self.batcher.start()
        yield
        await self.batcher.stop(Stopping())

    async def predict(self, request: Request) -> Response:
        """Label texts."""
        results = await self._answer(request, self.predict_body, self._predict)
        value = {"classes": self._predict.classes, "predictions": results}
        return Response(json.dumps(value), media_type="application/json")

    async def explain(self, request: Request) -> Response:
        """Label texts and say which levels, phrases and words decided."""
        results = await self._answer(request, self.explain_body, self._explain)
        value = f'{{"explanations": [{", ".join(results)}]}}'
        return Response(value, media_type="application/json")

    async def feedback(self, request: Request) -> schemas.Stored:
        """Keep the right label of a text, with what the model says, for the next training."""
        assert self.feedback_file is not None  # or there were no such endpoint
        with self.gate.admit() as admission:
            right = await read_body(request, self.feedback_body, self.limits, admission)
            (found,) = await self.batcher.run(self._predict, [right.text])
            label, probability = found["label"], max(found["probabilities"])
            try:
                await asyncio.to_thread(
                    self.feedback_file.add, right.text, right.label, label, probability
                )
            except (OSError, ConfigError) as error:
                raise Refused(500, f"not stored: {error}") from error
        self.metrics.texts.labels(request.url.path).inc()
        return schemas.Stored(predicted=label, probability=probability)

    async def _answer(self, request: Request, schema: type[BaseModel], work: Work) -> list[Any]:
        with self.gate.admit() as admission:
            texts = (await read_body(request, schema, self.limits, admission)).texts
            results = await _while_connected(request, self.batcher.run(work, texts))
        self.metrics.texts.labels(request.url.path).inc(len(texts))
        return results

    async def model(self) -> schemas.Model:
        """The model, and the limits of the service."""
        encoder, thresholds = self.predictor.encoder, self.predictor.thresholds_
        about = about_model(
            self.name,
            self._predict.classes,
            None if thresholds is None else thresholds.tolist(),
            self.predictor.training_,
            hidden_size=self.predictor.network.config.hidden_size,
            n_vocabulary=encoder.n_words,
            max_words=encoder.max_words,
        )
        return schemas.Model(
            **about,
            api="/docs",
            feedback=self.feedback_file is not None,
            limits=schemas.Bounds(
                **asdict(self.limits) | {"max_explained_words": self._explain.max_words}
            ),
        )

    async def healthz(self) -> schemas.Health:
        """Whether the service can answer."""
        if self.stopping:
            raise Stopping
        if not self.batcher.alive:
            raise Refused(503, "the worker threads have ended; restart the service", retry_after=5)
        return schemas.Health(status="ok")

    async def prometheus(self) -> Response:
        """Counts and times, in Prometheus' text format."""
        return Response(self.metrics.render(), media_type=CONTENT_TYPE)


def create_app(
    predictor: Predictor,
    name: str = "model",
    limits: Limits | None = None,
    feedback: FeedbackFile | None = None,
    names: frozenset[str] | None = None,
) -> FastAPI:
    """The service as an ASGI application; ``app.state.service`` is the :class:`Service`.

    ``names`` are those of :func:`adasent.serve.hosts.names_of`; None answers to any.
    """
    service = Service(predictor, name, limits or Limits(), feedback)
    app = FastAPI(
        title="adasent",
        version=__version__,
        description="Classifies short texts, and shows at which phrase scale it decided.",
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        lifespan=service.lifespan,
    )
    app.state.service = service
    _add_api(app, service)
    _add_pages(app)
    for kind in (Refused, HTTPException, AdaSentError, Exception):
        app.add_exception_handler(kind, _problem)
    if names is not None:
        app.add_middleware(KnownHosts, names=names)
    app.add_middleware(Instrument, metrics=service.metrics, stopping=lambda: service.stopping)
    return app


def _add_api(app: FastAPI, service: Service) -> None:
    posts: list[tuple[str, Any, type[BaseModel], type[BaseModel]]] = [
        ("/v1/predict", service.predict, service.predict_body, schemas.Predictions),
        ("/v1/explain", service.explain, service.explain_body, schemas.Explanations),
    ]
    if service.feedback_file is not None:
        posts.append(("/v1/feedback", service.feedback, service.feedback_body, schemas.Stored))
    for path, endpoint, body, answer in posts:
        content = {"application/json": {"schema": body.model_json_schema()}}
        problems = _PROBLEMS | (_NOT_STORED if answer is schemas.Stored else {})
        app.add_api_route(
            path,
            endpoint,
            methods=["POST"],
            responses={200: {"model": answer, "description": answer.__doc__}, **problems},
            openapi_extra={"requestBody": {"required": True, "content": content}},
        )
    app.add_api_route("/v1/model", service.model, response_description="The model.")
    app.add_api_route(
        "/healthz", service.healthz, response_description="It can.", responses={503: _PROBLEMS[503]}
    )
    app.add_api_route(
        "/metrics",
        service.prometheus,
        response_class=Response,
        response_description="The metrics.",
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )


def _add_pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(STATIC / "docs.html")

    app.mount("/static", StaticFiles(directory=STATIC))


async def _while_connected(request: Request, work: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """Do the work unless the client hangs up: nobody would read the result."""
    working = asyncio.ensure_future(work)
    # The body has been read: all that can still come is the end of the connection.
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Refused(499, "the client is gone")
        return working.result()
    finally:
        working.cancel()
        gone.cancel()


async def _problem(request: Request, error: Exception) -> Response:
    """One line on what went wrong; the server logs the traceback of what nobody foresaw."""
    status, reason = 500, f"internal error: {type(error).__name__}"
    headers: Mapping[str, str] | None = None
    if isinstance(error, Refused):
        status, reason = error.status, error.reason
        headers = {"Retry-After": str(error.retry_after)} if error.retry_after else None
    elif isinstance(error, HTTPException):
        status, headers = error.status_code, error.headers
        reason = f"{request.method} {request.url.path}: {error.detail}"
    elif isinstance(error, AdaSentError):
        reason = str(error)
    return JSONResponse({"error": reason}, status, headers)
