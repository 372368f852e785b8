"""The record of a run: a sequence of rows that survives JSON."""

from __future__ import annotations

import json

import pytest

from adasent.training.history import History


def example() -> History:
    history = History([{"epoch": 0, "train_loss": 0.7}, {"epoch": 1, "train_loss": 0.4}])
    history.best_epoch = 1
    return history


def test_is_a_sequence_of_rows() -> None:
    history = example()
    assert len(history) == 2
    assert history[-1]["train_loss"] == 0.4
    assert [row["epoch"] for row in history] == [0, 1]
    assert history.column("train_loss") == [0.7, 0.4]


def test_unknown_column_names_the_nearest() -> None:
    with pytest.raises(KeyError, match=r"no column 'train_los'.*did you mean 'train_loss'"):
        example().column("train_los")
    assert History().column("anything") == []


@pytest.mark.parametrize("interrupted", [True, False])
def test_json_round_trip(interrupted: bool) -> None:
    history = example()
    history.interrupted = interrupted
    again = History.from_dict(json.loads(json.dumps(history.to_dict())))
    assert again.rows == history.rows
    assert (again.best_epoch, again.interrupted) == (1, interrupted)


def test_rows_are_copies() -> None:
    row = {"epoch": 0}
    history = History([row])
    row["epoch"] = 7
    assert history[0]["epoch"] == 0
