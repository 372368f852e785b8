"""Few labelled texts, sentences they say nothing of, and a teacher who knows the rule."""

from __future__ import annotations

import pytest

from teaching_cases import Rule, is_positive, sentences


@pytest.fixture(scope="session")
def labelled() -> tuple[list[str], list[str]]:
    """Sixty texts without a "not", but one."""
    texts = [*sentences(negated=False)[:59], "a film is not a film"]
    return texts, ["pos" if is_positive(text) else "neg" for text in texts]


@pytest.fixture(scope="session")
def negated() -> list[str]:
    """Sentences that say "not", without labels."""
    return sentences(negated=True)


@pytest.fixture
def rule() -> Rule:
    return Rule()
