"""Sentences of the page that follow from the standings: nothing here is concluded by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reproduction.catalog import Catalog
from reproduction.cells import OURS, Place
from reproduction.paper import paper_accuracy
from reproduction.report.claims import MEASURED, variant
from reproduction.report.tables import cell_records, n_capped, survivors
from reproduction.sizes import largest
from reproduction.specs import RULES, SystemSpec
from reproduction.standings import difference_words, grouped_sets, leaders, stand
from reproduction.wording import listed, signed

#: Rivals that get a sentence of their own.
CLOSEST = ("brnn", "cnn")


def in_short(catalog: Catalog) -> str:
    """The list at the head of the page."""
    sentences = [
        *_accuracies(catalog),
        _leaders(catalog),
        *(_closest(catalog, rival) for rival in CLOSEST),
        _the_others(catalog),
        *_same_size(catalog),
        *_further_folds(catalog),
        _repeats(catalog),
    ]
    legend = "Bold: differences that are supported, one comparison at a time."
    return bullets([*sentences, legend])


def bullets(sentences: Iterable[str]) -> str:
    """A Markdown list."""
    return "\n".join(f"- {sentence}" for sentence in sentences)


def grouped_folds(catalog: Catalog) -> str:
    """What changes when equal texts are kept on one side."""
    sets = catalog.plan.protocol.grouped
    most = _most_repeats(catalog)
    there = _regrouped(catalog, most)
    counting = {n: c for n, c in there.items() if not _row(catalog, n).vectors}
    networks = {n: c for n, c in there.items() if _row(catalog, n).vectors}
    low, high = (
        _named(catalog, dict([pick(networks.items(), key=lambda one: one[1])]))
        for pick in (min, max)
    )
    change, name, data = max(
        ((c, n, d) for d in sets if d != most for n, c in _regrouped(catalog, d).items()),
        key=lambda one: abs(one[0]),
    )
    brnn = stand(catalog.results, OURS, "brnn", sets, "grouped")
    return (
        f"Where texts repeat most, on {most}, grouped folds change the systems without word "
        f"vectors by {_named(catalog, counting)}; networks by {low} to {high}. On the other sets "
        f"the largest change is {_points(change)} ({_row(catalog, name).title}, {data}). AdaSent "
        f"less BRNN with grouped folds: {brnn.words()}."
    )


def after_holm(catalog: Catalog) -> str:
    """Whose leads survive the correction."""
    kept = survivors(catalog)
    tests = catalog.results.tests
    behind = [p for p in kept if (test := tests[p]) is not None and test.bootstrap.difference < 0]
    titles = catalog.plan.systems
    lines = [f"{titles[p.system].title} on {p.data} ({p.rule} folds)" for p in sorted(behind)]
    return (
        f"{len(kept) - len(behind)} of these are leads of AdaSent. Leads over AdaSent that are "
        f"left: {listed(lines)}."
    )


def far_below(catalog: Catalog, points: float = 1.0) -> str:
    """Cells that are more than so much below the paper's."""
    found: dict[str, list[str]] = {}
    for row in catalog.systems:
        for data in catalog.sets:
            mean, said = catalog.results.mean(row.name, data), paper_accuracy(row.in_paper, data)
            if mean is not None and said is not None and mean < said - points:
                found.setdefault(row.title, []).append(f"{data} ({_points(mean - said)})")
    return "; ".join(f"{title} on {', '.join(sets)}" for title, sets in found.items()) or "none"


def ablation_words(catalog: Catalog) -> str:
    """Variants by what their intervals say."""
    losses, gains, alike = [], [], []
    for name in catalog.ablations.variants:
        found = variant(catalog, name)
        lost = [data for data in found.behind if data in found.supported]
        won = [data for data in found.ahead if data in found.supported]
        if lost:
            losses.append(f"`{name}` on {listed(lost)}")
        if won:
            gains.append(f"`{name}` on {listed(won)}")
        if found.differences and not lost and not won:
            alike.append(f"`{name}`")
    return bullets(
        [
            f"Supported losses: {'; '.join(losses) or 'none'}.",
            f"Supported gains: {'; '.join(gains) or 'none'}.",
            f"Not told apart from the default on any set measured: {listed(alike)}.",
            *_vectors_alone(catalog),
            *_mixed_devices(catalog),
        ]
    )


def capped_words(catalog: Catalog) -> str:
    """Networks most of whose runs the cap on epochs ended, by set."""
    found = {
        data: [
            row.title
            for row in catalog.networks
            if 2 * n_capped(catalog, row.name, data) > len(cell_records(catalog, row.name, data))
        ]
        for data in catalog.sets
    }
    words = [f"{listed(titles)} on {data}" for data, titles in found.items() if titles]
    return "; ".join(words) or "none"


def machine_words(catalog: Catalog) -> str:
    """Where the networks of Table 2 ran."""
    where: dict[str, list[str]] = {}
    for row in catalog.networks:
        for data in catalog.sets:
            for rule in RULES:
                runs = catalog.results.runs.get(Place(row.name, data, rule))
                if runs is not None:
                    machines = " and ".join(sorted({record.machine for record in runs.records}))
                    where.setdefault(machines, []).append(f"{row.title} on {data} ({rule} folds)")
    main, *rest = sorted(where.items(), key=lambda item: -len(item[1]))
    said = "; ".join(f"{', '.join(cells)} ({machine})" for machine, cells in rest)
    return f"The networks of Table 2 ran on {main[0]}" + (f", but for {said}." if said else ".")


def before_rounding(catalog: Catalog) -> tuple[int, int]:
    """Runs whose dev accuracy is from before the vectors were rounded, and runs of networks."""
    networks = [r for rows in catalog.records.values() for r in rows if "vectors" in r.spec]
    n = sum(r.n_threads is None and r.device.endswith("models together") for r in networks)
    return n, len(networks)


def _points(change: float) -> str:
    return signed(change / 100)


def _row(catalog: Catalog, name: str) -> SystemSpec:
    return catalog.plan.systems[name]


def _accuracies(catalog: Catalog) -> list[str]:
    sentences = []
    for row in catalog.systems:
        means = {d: catalog.results.mean(row.name, d) for d in catalog.sets}
        known = {d: m for d, m in means.items() if m is not None}
        if row.in_paper != "AdaSent" or not known:
            continue
        has = ", ".join(f"{mean:.1f} on {data}" for data, mean in known.items())
        gaps = {d: m - said for d, m in known.items() if (said := paper_accuracy("AdaSent", d))}
        less = ", ".join(f"{_points(gap)} ({data})" for data, gap in gaps.items())
        what = "our recipe" if row.name == OURS else "the paper's model and training"
        sentences.append(f"{row.title}, {what}, has {has}. Less the paper's figures: {less}.")
    return sentences


def _leaders(catalog: Catalog) -> str:
    winners = leaders(catalog.results, catalog.systems, catalog.sets)
    return f"Highest mean of all rows: {grouped_sets(winners)}."


def _closest(catalog: Catalog, rival: str) -> str:
    found = stand(catalog.results, OURS, rival, catalog.sets)
    kept = [p.data for p in survivors(catalog) if p.system == rival and p.rule == "random"]
    left = listed([data for data in catalog.sets if data in kept])
    n_tests = sum(test is not None for test in catalog.results.tests.values())
    return (
        f"AdaSent less {_row(catalog, rival).title}: {found.words()}. After a correction for all "
        f"{n_tests} comparisons, left of these: {left}."
    )


def _the_others(catalog: Catalog) -> str:
    rivals = [name for name in MEASURED if name not in CLOSEST]
    found = [stand(catalog.results, OURS, rival, catalog.sets) for rival in rivals]
    n = sum(len(one.differences) for one in found)
    n_ahead = sum(len(one.ahead) for one in found)
    n_supported = sum(len(one.supported & set(one.ahead)) for one in found)
    titles = listed([_row(catalog, rival).title for rival in rivals])
    return (
        f"Of {n} pairs of {titles} with a set, AdaSent is ahead in {n_ahead}; the tests support "
        f"{n_supported} of these leads."
    )


def _same_size(catalog: Catalog) -> list[str]:
    """BRNN at AdaSent's size, and with AdaSent's training."""
    sentences = []
    small, trained = (variant(catalog, name) for name in ("brnn-as-small", "brnn-our-training"))
    if small.differences:
        n, ours = largest(catalog.sizes, "brnn-as-small"), largest(catalog.sizes, OURS)
        sentences.append(
            f"BRNN cut down to {n:,} parameters, where AdaSent has {ours:,}, less AdaSent, one "
            f"setting on both sides: {small.words()}."
        )
    if trained.differences:
        sentences.append(
            f"BRNN with the settings of AdaSent's training, less AdaSent: {trained.words()}."
        )
    return sentences


def _further_folds(catalog: Catalog) -> list[str]:
    partitions = catalog.partitions
    sentences = []
    for rival in CLOSEST:
        tests = {data: partitions.test(rival, data) for data in catalog.sets}
        words = ", ".join(
            f"{difference_words(t.bootstrap.difference, t.supported)} ({data})"
            for data, t in tests.items()
            if t is not None
        )
        if words:
            sentences.append(
                f"Over {partitions.n_divisions} divisions into folds, AdaSent less "
                f"{_row(catalog, rival).title}: {words}."
            )
    return sentences


def _repeats(catalog: Catalog) -> str:
    data = _most_repeats(catalog)
    changes = _regrouped(catalog, data)
    counting = {name: changes[name] for name in ("nbsvm", "mnb")}
    networks = [change for name, change in changes.items() if _row(catalog, name).vectors]
    return (
        f"{100 * catalog.audits[data].words.leakage:.1f} % of {data}'s tested texts stand word for "
        "word in training. Keeping equal texts on one side changes accuracy there by "
        f"{_named(catalog, counting)}, and that of networks by {_points(min(networks))} to "
        f"{_points(max(networks))}."
    )


def _most_repeats(catalog: Catalog) -> str:
    """The set most of whose tested texts stand in training."""
    return max(catalog.sets, key=lambda data: catalog.audits[data].words.leakage)


def _regrouped(catalog: Catalog, data: str) -> dict[str, float]:
    """Mean with grouped folds less that with random ones, in points, by system."""
    found = {}
    for row in catalog.systems:
        before, after = (catalog.results.mean(row.name, data, rule) for rule in RULES)
        if before is not None and after is not None:
            found[row.name] = after - before
    return found


def _named(catalog: Catalog, changes: Mapping[str, float]) -> str:
    """``−1.93 (NB-SVM), −2.02 (MNB)``."""
    return ", ".join(f"{_points(c)} ({_row(catalog, name).title})" for name, c in changes.items())


def _vectors_alone(catalog: Catalog) -> list[str]:
    """Whether the rows with other vectors change anything else."""
    found: dict[str, tuple[object, ...]] = {}
    for record in catalog.records["ablations"]:
        if record.spec.get("of", OURS) == OURS:
            chosen = record.spec["defaults"] | record.spec["settings"][0]
            rates = (chosen["learning_rate"], chosen["vector_dropout"])
            found[record.spec["system"]] = rates
    changed = [
        f"`{name}` (learning rate {rates[0]}, vector dropout {rates[1]})"
        for name, rates in found.items()
        if name.startswith("vectors-") and rates != found.get("default")
    ]
    if changed:
        rate, dropout = found["default"]
        return [
            f"These rows change more than the vectors: {listed(changed)}, where the default has "
            f"{rate} and {dropout}."
        ]
    if any(name.startswith("vectors-") for name in found):
        return ["Rows with other vectors keep the default's learning rate and dropout."]
    return []


def _mixed_devices(catalog: Catalog) -> list[str]:
    """On which devices the variants ran, if not on one."""
    where: dict[str, set[str]] = {}
    for record in catalog.records["ablations"]:
        if record.spec["system"] in catalog.plan.ablations:
            torch = record.versions.get("torch", "").split("+")[0]
            where.setdefault(f"{record.machine}, torch {torch}", set()).add(record.spec["system"])
    if len(where) < 2:
        return []
    *others, (most, _) = sorted(where.items(), key=lambda item: len(item[1]))
    parts = [f"{listed([f'`{n}`' for n in sorted(names)])} on {place}" for place, names in others]
    return [
        f"The rows mix devices: {'; '.join(parts)}; all others on {most}. A difference between "
        "rows of two devices holds one of device as well."
    ]
