"""Requests made up from the OpenAPI description get answers that it announces, and no 5xx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from adasent.serve.feedback import FeedbackFile
from adasent.serve.limits import Limits

POSTS = [("/v1/predict", "POST"), ("/v1/explain", "POST"), ("/v1/feedback", "POST")]
GETS = [("/v1/model", "GET"), ("/v1/models", "GET"), ("/healthz", "GET"), ("/metrics", "GET")]


@pytest.fixture(scope="session")
def description(make_running: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a service says of itself; its limits are low, so that they are met."""
    feedback = FeedbackFile(tmp_path_factory.mktemp("feedback") / "wrong.csv")
    limits = Limits(max_texts=4, max_explained=3, max_chars=100)
    url = make_running(limits, feedback=feedback).url
    return schemathesis.openapi.from_url(f"{url}/openapi.json")


def check_all(strategy: Any, *, good: bool) -> None:
    """Send what the strategy makes up, and hold each answer against the description."""
    # It does not know that 413 is a refusal too; checked below.
    excluded = [schemathesis.checks.CHECKS.get_one("negative_data_rejection")]

    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def check(case: Any) -> None:
        answer = case.call()
        case.validate_response(answer, excluded_checks=excluded)
        assert answer.status_code == 200 if good else 400 <= answer.status_code < 500

    check()


def test_nothing_is_left_out(description: Any) -> None:
    found = {
        (each.ok().path, each.ok().method.upper()) for each in description.get_all_operations()
    }
    assert found == {*POSTS, *GETS}


@pytest.mark.parametrize(("path", "method"), [*POSTS, *GETS])
def test_good_requests(description: Any, path: str, method: str) -> None:
    mode = schemathesis.GenerationMode.POSITIVE
    check_all(description[path][method].as_strategy(generation_mode=mode), good=True)


@pytest.mark.parametrize(("path", "method"), POSTS)
def test_bad_requests(description: Any, path: str, method: str) -> None:
    mode = schemathesis.GenerationMode.NEGATIVE
    check_all(description[path][method].as_strategy(generation_mode=mode), good=False)
