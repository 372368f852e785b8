"""The progress bar with and without a terminal; Ctrl-C between steps, a second one at once."""

from __future__ import annotations

import io
import signal
import threading

import pytest
from rich.console import Console

from adasent.training.callbacks import Interrupt, ProgressBar

ROW = {
    "train_loss": 0.5,
    "valid_loss": 0.25,
    "valid_accuracy": 0.875,
    "examples_per_second": 1234.5,
}


def run(console: Console, row: dict[str, float | None]) -> None:
    bar = ProgressBar(console)
    bar.on_train_begin(2, 10, 1)
    bar.on_batch_end(1, 5, 0.625)
    bar.on_batch_end(1, 10, 0.5)
    bar.on_epoch_end(1, row, True)
    bar.on_train_end()


def test_a_line_an_epoch_without_a_terminal() -> None:
    out = io.StringIO()
    run(Console(file=out, force_terminal=False, width=100), ROW)
    assert out.getvalue() == (
        "epoch   2  loss 0.5000  valid loss 0.2500 accuracy 0.8750  1,234 texts/s  best\n"
    )


def test_without_validation() -> None:
    out = io.StringIO()
    row = ROW | {"valid_loss": None, "valid_accuracy": None}
    run(Console(file=out, force_terminal=False, width=100), row)
    assert out.getvalue() == "epoch   2  loss 0.5000  1,234 texts/s  best\n"


def test_a_bar_on_a_terminal() -> None:
    out = io.StringIO()
    run(Console(file=out, force_terminal=True, width=100), ROW)
    assert "epoch 2/2 loss 0.500" in out.getvalue()
    assert "20/20" in out.getvalue()


def test_a_loss_that_is_not_known_is_not_shown() -> None:
    out = io.StringIO()
    bar = ProgressBar(Console(file=out, force_terminal=True, width=100))
    bar.on_train_begin(2, 10, 0)
    bar.on_batch_end(0, 10, None)
    bar.on_train_end()
    assert "epoch 1/2" in out.getvalue()
    assert "loss" not in out.getvalue()


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_comes_where_it_is_asked_for() -> None:
    with Interrupt() as interrupt:
        interrupt.check()
        press()
        reached = True
        with pytest.raises(KeyboardInterrupt):
            interrupt.on_batch_end(0, 1, None)
        interrupt.on_batch_end(0, 2, None)  # once is enough
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_second_comes_at_once() -> None:
    with Interrupt():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_handler_of_somebody_else_stays() -> None:
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with Interrupt() as interrupt:
            press()
            interrupt.check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


def test_other_threads_are_left_alone() -> None:
    found = []

    def work() -> None:
        with Interrupt() as interrupt:
            interrupt.check()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
