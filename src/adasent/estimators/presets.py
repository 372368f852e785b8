"""Recipes by name, as keywords of ``AdaSentClassifier``.

>>> from adasent import AdaSentClassifier
>>> clf = AdaSentClassifier(**preset("paper"))
"""

from __future__ import annotations

from typing import Any

from adasent.errors import ConfigError, nearest

#: Name -> settings that differ from the estimator's defaults, or must not follow them.
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # Zhao, Lu and Poupart (2015); sections are the paper's.
    "paper": {
        # 4.2, Implementation Details: vectors of 50 dimensions, fine-tuned for all tasks; the
        # hyperbolic tangent in the composition; an MLP as the classifier, a softmax as the gating
        # network. 3.2: a softmax as the local gate.
        "vector_size": 50,
        "fine_tune": True,
        "activation": "tanh",
        "local_gate": "softmax",
        "level_gate": "softmax",
        # 4.2, Regularization of Recurrent Matrix: minibatch AdaGrad with norm clipping; a penalty
        # from 0.01 to 5e-5, by problem. The largest norm is not given.
        "optimizer": "adagrad",
        "penalty": 1e-4,
        "clip_norm": 5.0,
        # 3.1: D >= d; 4.3: 10 K to 100 K weights in all. Neither D nor the MLP's hidden units are
        # given; with these there are 36 K.
        "hidden_size": 100,
        "classifier_size": 100,
        # 3.2: one gate for all dimensions of a unit, and as many levels as words.
        "gate_groups": 1,
        "max_height": None,
        # Not in the paper: any dropout, a gate that starts out copying, a norm of the levels, a
        # loss on each of them, a mean of the weights, other steps for the word table, calibration.
        "average": 0.0,
        "table_rate": 1.0,
        "word_dropout": 0.0,
        "vector_dropout": 0.0,
        "dropout": 0.0,
        "copy_bias": 0.0,
        "level_norm": False,
        "level_loss": 0.0,
        "calibrate": False,
        # 3.2: "either average pooling or max pooling"
        "pooling": "max",
        # Not given; the default is for Adam, and AdaGrad gets nowhere with it.
        "learning_rate": 0.01,
    },
}

#: Settings of network and training that the paper leaves open; its preset has the defaults.
#: ``gate_size`` is of gates it did not use.
NOT_IN_PAPER = ("gate_size", "batch_size", "epochs", "epoch_size", "patience", "metric")


def preset(name: str) -> dict[str, Any]:
    """The settings of a preset, as keywords; yours to change."""
    if name not in PRESETS:
        raise ConfigError(f"unknown preset {name!r}{nearest(name, PRESETS)}")
    return dict(PRESETS[name])
