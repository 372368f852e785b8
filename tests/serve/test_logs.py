"""What clients can cause again and again is logged once a minute."""

from __future__ import annotations

import logging

import pytest

from adasent.serve import reload
from adasent.serve.logs import Sparing, sparing_logs


def test_a_line_is_written_once_a_minute_with_the_number_left_out() -> None:
    now = 0.0
    spare = Sparing(lambda: now)

    def written(message: str, *values: object) -> str | None:
        record = logging.LogRecord("a", logging.WARNING, __file__, 1, message, values, None)
        return record.getMessage() if spare.filter(record) else None

    assert written("no %s", "room") == "no room"
    assert [written("no %s", "time") for _ in range(3)] == [None] * 3
    assert written("another") == "another"
    now = 61
    assert written("no %s", "luck") == "no luck (and 3 more like this before)"
    assert written("no %s", "luck") is None
    now = 200
    assert written("another") == "another"


def test_errors_from_other_places_are_other_lines() -> None:
    spare = Sparing()

    def written(error: Exception) -> bool:
        try:
            raise error
        except Exception as caught:
            found = (type(caught), caught, caught.__traceback__)
            return spare.filter(
                logging.LogRecord("a", logging.ERROR, __file__, 1, "failed\n", (), found)
            )

    assert [written(ValueError("1")), written(ValueError("2")), written(KeyError("3"))] == [
        True,
        False,
        True,
    ]


def test_what_is_remembered_is_bounded() -> None:
    spare = Sparing()
    for i in range(1000):
        spare.filter(logging.LogRecord("a", logging.ERROR, __file__, 1, f"{i}", (), None))
    assert len(spare._written) < 300


def test_only_within(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("adasent.serve")
    with sparing_logs():
        for _ in range(3):
            logger.warning("again")
    logger.warning("again")
    assert caplog.messages == ["again", "again"]


def test_what_no_client_can_cause_is_always_written(caplog: pytest.LogCaptureFixture) -> None:
    with sparing_logs():
        for _ in range(2):
            reload.logger.warning("now served is another model")
    assert len(caplog.messages) == 2
