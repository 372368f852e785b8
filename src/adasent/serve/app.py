"""Makes an ASGI application of models: the page, the API and its metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from adasent.errors import AdaSentError
from adasent.estimators.predictor import Predictor
from adasent.serve import schemas
from adasent.serve.access import Token
from adasent.serve.batching import Batcher
from adasent.serve.feedback import FeedbackFile
from adasent.serve.front import Instrument, Shortcuts, refused
from adasent.serve.hosts import KnownHosts
from adasent.serve.limits import Gate, Limits, Refused
from adasent.serve.metrics import CONTENT_TYPE, Metrics
from adasent.serve.models import ModelApi, Served
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
    """Models by name, and what they share; the first one answers where none is named."""

    def __init__(self, models: Sequence[Served]) -> None:
        self.limits = models[0].limits
        self.stopping = False  # True once no more requests are accepted
        paths = [_path(model.name, what) for model in models for what in ("", *_ENDPOINTS)]
        self.metrics = Metrics(paths if len(models) > 1 else ())
        self.gate = Gate(self.limits, self.metrics.pending)
        self.batcher = Batcher(self.metrics.batch)
        self.apis = {
            model.name: ModelApi(model, self.gate, self.batcher, self.metrics) for model in models
        }

    @property
    def first(self) -> ModelApi:
        """The one that the page shows."""
        return next(iter(self.apis.values()))

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Threads run while the application does."""
        self.batcher.start()
        yield
        await self.batcher.stop(Stopping())

    async def models(self) -> schemas.Models:
        """All models; the first answers where none is named."""
        return schemas.Models(models=[api.served.describe() for api in self.apis.values()])

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
    """The service of one model as an ASGI application; see :func:`app_of`."""
    return app_of([Served(predictor, name, limits or Limits(), feedback)], names)


def app_of(
    models: Sequence[Served], names: frozenset[str] | None = None, token: str | None = None
) -> FastAPI:
    """The service as an ASGI application; ``app.state.service`` is the :class:`Service`.

    ``names`` are those of :func:`adasent.serve.hosts.names_of`; None answers to any. Without a
    ``token`` it answers everybody.
    """
    service = Service(models)
    app = FastAPI(
        title="adasent",
        version=__version__,
        description="Classifies short texts, and shows at which phrase scale it decided.",
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        lifespan=service.lifespan,
    )
    app.state.service = service
    _add_model(app, service.first, "/v1", "/v1/model")
    if len(models) > 1:
        for model in models:
            _add_model(app, service.apis[model.name], _path(model.name), _path(model.name))
    _add_service(app, service)
    _add_pages(app)
    for kind in (Refused, HTTPException, AdaSentError, Exception):
        app.add_exception_handler(kind, _problem)
    quick = {"/v1/predict": service.first.predict, "/v1/explain": service.first.explain}
    for model in models if len(models) > 1 else ():
        api = service.apis[model.name]
        quick |= {_path(model.name, "predict"): api.predict}
        quick |= {_path(model.name, "explain"): api.explain}
    app.add_middleware(Shortcuts, endpoints=quick)  # from the inside to the outside
    if token is not None:
        app.add_middleware(Token, token=token)
    if names is not None:
        app.add_middleware(KnownHosts, names=names)
    app.add_middleware(Instrument, metrics=service.metrics, stopping=lambda: service.stopping)
    return app


#: Of a model, below its path.
_ENDPOINTS = ("predict", "explain", "feedback")


def _path(name: str, *below: str) -> str:
    return "/".join(["/v1/models", name, *filter(None, below)])


def _add_model(app: FastAPI, api: ModelApi, below: str, description: str) -> None:
    """The endpoints of a model."""
    served = api.served
    posts: list[tuple[str, Any, type[BaseModel], type[BaseModel]]] = [
        ("predict", api.predict, served.predict_body, schemas.Predictions),
        ("explain", api.explain, served.explain_body, schemas.Explanations),
    ]
    if served.feedback is not None:
        posts.append(("feedback", api.feedback, served.feedback_body, schemas.Stored))
    for path, endpoint, body, answer in posts:
        problems = _PROBLEMS | (_NOT_STORED if answer is schemas.Stored else {})
        app.add_api_route(
            f"{below}/{path}",
            endpoint,
            methods=["POST"],
            responses={200: {"model": answer, "description": answer.__doc__}, **problems},
            openapi_extra=_body(body),
        )
    app.add_api_route(description, api.model, response_description="The model.")

    def describe_again() -> None:
        for route in app.router.routes:
            if getattr(route, "path", None) == f"{below}/feedback" and isinstance(route, APIRoute):
                route.openapi_extra = _body(api.served.feedback_body)
        app.openapi_schema = None

    api.replaced.append(describe_again)


def _body(schema: type[BaseModel]) -> dict[str, Any]:
    content = {"application/json": {"schema": schema.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}


def _add_service(app: FastAPI, service: Service) -> None:
    """The endpoints of all models."""
    app.add_api_route("/v1/models", service.models, response_description="The models.")
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


async def _problem(request: Request, error: Exception) -> Response:
    """One line on what went wrong; the server logs the traceback of what nobody foresaw."""
    if isinstance(error, Refused):
        return refused(error)
    status, reason = 500, f"internal error: {type(error).__name__}"
    headers: Mapping[str, str] | None = None
    if isinstance(error, HTTPException):
        status, headers = error.status_code, error.headers
        reason = f"{request.method} {request.url.path}: {error.detail}"
    elif isinstance(error, AdaSentError):
        reason = str(error)
    return JSONResponse({"error": reason}, status, headers)
