"""Pictures are drawn, whatever is in the text, and say what they should."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent import Predictor
from adasent.errors import DataError, MissingDependencyError
from adasent.evaluation.metrics import score_predictions
from adasent.evaluation.reliability import judge
from adasent.explain import Explanation, explain, plots
from adasent.explain.html import fragment
from adasent.training.history import History

pytest.importorskip("matplotlib")


def written(figure: Any, path: Path) -> str:
    plots.save(figure, path)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("dark", [False, True])
def test_pyramid_names_words_and_class(
    explanation: Explanation, tmp_path: Path, dark: bool
) -> None:
    picture = written(plots.pyramid(explanation, dark=dark), tmp_path / "new" / "p.svg")
    for word in (*explanation.tokens, *explanation.classes, f"{explanation.predicted}, "):
        assert f">{word}" in picture
    assert ("#161616" in picture) == dark
    contrast = written(plots.pyramid(explanation, "neg", "pos"), tmp_path / "c.svg")
    assert "neg rather than pos" in contrast


def test_a_height_bounds_the_pictures(make_twin: Callable[..., Any]) -> None:
    twin = make_twin(max_height=2)
    twin.predictor.encoder.max_words = 300
    found = explain(twin.predictor, "good film " * 10)
    bars, axes, *_ = plots.pyramid(found).axes
    assert axes.get_ylim() == bars.get_ylim() == (0.4, 2.6)
    assert plots.pyramid(found).get_figheight() < 3
    height = int(fragment(found).split('viewBox="0 0 ')[1].split('"')[0].split()[1])
    assert height == 3 * 20 + 4
    long = explain(twin.predictor, "good film " * 150)
    assert "svg" not in fragment(long).split("</style>")[1]
    assert "Pyramids of more than 60 words are not drawn." in fragment(long)
    with pytest.raises(DataError, match="expected at most 2 words, got 3: the model's max_height"):
        plots.decomposition(twin.predictor, "a good film")


def test_equal_data_gives_equal_files(explanation: Explanation, tmp_path: Path) -> None:
    one = written(plots.pyramid(explanation), tmp_path / "1.svg")
    assert one == written(plots.pyramid(explanation), tmp_path / "2.svg")


def test_png_and_odd_characters(predictor: Predictor, tmp_path: Path) -> None:
    plots.save(plots.pyramid(explain(predictor, "cost $5 & <b> x_1^2 $")), tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    plots.save(plots.pyramid(explain(predictor, "film")), tmp_path / "one.svg")


def test_too_many_words_and_no_pyramid_are_refused(
    explanation: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="with its pyramid"):
        plots.pyramid(Explanation.from_dict(explanation.to_dict(pyramid=False)))
    monkeypatch.setattr(plots, "MAX_WORDS", 3)
    with pytest.raises(DataError, match="at most 3 words"):
        plots.pyramid(explanation)


def test_beliefs_of_texts_of_different_length(predictor: Predictor, tmp_path: Path) -> None:
    found = explain(predictor, ["a good film", "the plot was awful and the cast was dull " * 3])
    picture = written(plots.beliefs(found), tmp_path / "b.svg")
    assert "a good film  [pos]" in picture
    assert "…" in picture
    with pytest.raises(DataError, match="at least one explanation"):
        plots.beliefs([])


def test_votes_name_the_classes(explanation: Explanation, tmp_path: Path) -> None:
    picture = written(plots.votes(explanation), tmp_path / "v.svg")
    for label, p in zip(explanation.classes, explanation.probabilities, strict=True):
        assert f"{label}, {p:.2f}" in picture


def test_decomposition_shows_a_weight_for_each_part(
    predictor: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dark in (False, True):
        figure = plots.decomposition(predictor, "a good film", dark=dark)
        assert len(figure.axes[0].texts) == 6
        weights = [float(text.get_text()) for text in figure.axes[0].texts]
        assert sum(weights) == pytest.approx(1, abs=0.005)
    monkeypatch.setattr(plots, "MAX_WORDS", 2)
    with pytest.raises(DataError, match="at most 2 words, got 3"):
        plots.decomposition(predictor, "a good film")


def test_training_curves_with_gradient_flow(predictor: Predictor, tmp_path: Path) -> None:
    history = History.from_dict(predictor.training_["history"])
    picture = written(plots.training(history), tmp_path / "t.svg")
    for word in ("loss", "accuracy", "held back", "gradient below the root"):
        assert word in picture
    rows = [{"train_loss": 1.0, "valid_loss": None, "valid_accuracy": None, "gradient_flow": None}]
    written(plots.training(History(rows)), tmp_path / "none.svg")
    with pytest.raises(DataError, match="at least one epoch"):
        plots.training(History())


def test_confusion_counts(tmp_path: Path) -> None:
    report = score_predictions(list("aabbc"), list("aabcc"), list("abc"))
    figure = plots.confusion(report, dark=True)
    counts = [text.get_text() for text in figure.axes[0].texts]
    assert counts == ["2", "0", "0", "0", "1", "1", "0", "0", "1"]
    assert "accuracy 0.8000 of 5 texts" in written(figure, tmp_path / "c.svg")


def test_reliability_shows_the_bins_that_have_texts(tmp_path: Path) -> None:
    probabilities = np.array([[0.9, 0.1], [0.95, 0.05], [0.4, 0.6]])
    found = judge(probabilities, ["a", "b"], ["a", "a", "a"])
    for dark in (False, True):
        figure = plots.reliability(found, dark=dark)
        above, below = figure.axes
        assert [bar.get_height() for bar in above.patches] == [0, 1, 1]
        assert [bar.get_height() for bar in below.patches] == [1, 1, 1]
        assert "mean confidence 0.817, accuracy 0.667" in written(figure, tmp_path / f"{dark}.svg")


def test_without_matplotlib_the_command_is_named(
    explanation: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'adasent\[plots\]'"):
        plots.pyramid(explanation)
