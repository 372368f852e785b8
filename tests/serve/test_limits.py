"""What is unanswered is counted and bounded."""

from __future__ import annotations

import pytest

from adasent.errors import ConfigError
from adasent.serve.limits import Gate, Limits, Refused


def test_requests_are_bounded_and_counted_back() -> None:
    gate = Gate(Limits(max_pending=1))
    with gate.admit():
        assert gate.n_requests == 1
        with pytest.raises(Refused, match="busy: 1 requests wait") as refused, gate.admit():
            pass
        assert (refused.value.status, refused.value.retry_after) == (503, 1)
        assert gate.n_requests == 1
    assert gate.n_requests == 0


def test_bytes_are_bounded_over_all_requests() -> None:
    gate = Gate(Limits(max_pending_bytes=10))
    with gate.admit() as first, gate.admit() as second:
        first.take(6)
        with pytest.raises(Refused, match="6 bytes wait"):
            second.take(5)
        second.take(4)
        assert gate.n_bytes == 10
    assert gate.n_bytes == 0


def test_a_failed_request_is_counted_back() -> None:
    gate = Gate(Limits(max_pending_bytes=3))
    with pytest.raises(Refused), gate.admit() as admission:
        admission.take(4)
    assert (gate.n_requests, gate.n_bytes) == (0, 0)


def test_limits_are_checked() -> None:
    with pytest.raises(ConfigError, match="max_texts must be a whole number of at least 1"):
        Limits(max_texts=0)
