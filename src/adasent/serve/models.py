"""A model that is served: what is asked of it, and what it says of itself.

A model is never changed. When its folder is replaced, :class:`ModelApi` goes over to a new one, and
requests on their way end on the old one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from adasent.errors import ConfigError
from adasent.estimators.predictor import Predictor
from adasent.export.about import about_model
from adasent.serve import schemas
from adasent.serve.batching import Batcher, Job, Work
from adasent.serve.feedback import FeedbackFile, feedback_model
from adasent.serve.front import seen
from adasent.serve.limits import PEER, Gate, Limits, Refused, read_body, texts_model
from adasent.serve.metrics import Metrics
from adasent.serve.work import Explain, Predict


class Served:
    """A predictor by its name, its work, and the bodies that it takes."""

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
        self.feedback = feedback
        self.predict = Predict(predictor)
        self.explain = Explain(predictor, limits.max_explained_words)
        self.predict_body = texts_model(limits.max_texts, limits.max_chars)
        self.explain_body = texts_model(limits.max_explained, limits.max_chars)
        self.feedback_body = feedback_model(self.predict.classes, limits.max_chars)

    def with_predictor(self, predictor: Predictor) -> Served:
        """The same with what is in the folder now."""
        return Served(predictor, self.name, self.limits, self.feedback)

    def describe(self) -> schemas.Model:
        """The model, and the limits of the service."""
        encoder, thresholds = self.predictor.encoder, self.predictor.thresholds_
        classes = self.predict.classes
        about = about_model(
            self.name,
            classes,
            None if thresholds is None else thresholds.tolist(),
            self.predictor.training_,
            hidden_size=self.predictor.network.config.hidden_size,
            n_vocabulary=encoder.n_words,
            max_words=encoder.max_words,
        )
        return schemas.Model(
            **about,
            api="/docs",
            feedback=self.feedback is not None,
            limits=schemas.Bounds(
                **asdict(self.limits) | {"max_explained_words": self.explain.max_words}
            ),
        )


class ModelApi:
    """The endpoints of a model."""

    def __init__(self, served: Served, gate: Gate, batcher: Batcher, metrics: Metrics) -> None:
        self.served = served
        self._gate = gate
        self._batcher = batcher
        self._metrics = metrics
        #: Called when another model has taken the place of the first.
        self.replaced: list[Callable[[], None]] = []

    def replace(self, served: Served) -> None:
        """Answer with another model from the next request on."""
        self.served = served
        for tell in self.replaced:
            tell()

    async def predict(self, request: Request) -> Response:
        """Label texts."""
        work = self.served.predict
        results = await self._answer(request, self.served.predict_body, work)
        value = {"classes": work.classes, "predictions": results}
        return Response(json.dumps(value), media_type="application/json")

    async def explain(self, request: Request) -> Response:
        """Label texts and say which levels, phrases and words decided."""
        served = self.served
        results = await self._answer(request, served.explain_body, served.explain)
        value = f'{{"explanations": [{", ".join(results)}]}}'
        return Response(value, media_type="application/json")

    async def feedback(self, request: Request) -> schemas.Stored:
        """Keep the right label of a text, with what the model says, for the next training."""
        served = self.served
        assert served.feedback is not None  # or there were no such endpoint
        with self._gate.admit() as admission:
            right = await read_body(request, served.feedback_body, served.limits, admission)
            (found,) = await self._batcher.submit(served.predict, [right.text]).results()
            label, probability = found["label"], max(found["probabilities"])
            try:
                await asyncio.to_thread(
                    served.feedback.add, right.text, right.label, label, probability
                )
            except (OSError, ConfigError) as error:
                raise Refused(500, f"not stored: {error}") from error
        self._count(request, 1)
        return schemas.Stored(predicted=label, probability=probability)

    async def model(self) -> schemas.Model:
        """The model, and the limits of the service."""
        return self.served.describe()

    async def _answer(self, request: Request, schema: type[BaseModel], work: Work) -> list[Any]:
        with self._gate.admit() as admission:
            texts = (await read_body(request, schema, self.served.limits, admission)).texts
            results = await _while_connected(request, self._batcher.submit(work, texts))
        self._count(request, len(texts))
        return results

    def _count(self, request: Request, n_texts: int) -> None:
        self._metrics.texts_of(request.scope["path"]).inc(n_texts)
        seen(request.scope).n_texts = n_texts


async def _while_connected(request: Request, job: Job) -> list[Any]:
    """What comes of a job, unless the client hangs up: nobody would read the result."""
    peer = request.scope.get(PEER)
    if peer is not None:  # or it is no connection of ours
        peer.when_gone = lambda: job.fail(Refused(499, "the client is gone"))
    try:
        return await job.results()
    finally:
        job.done.cancel()
