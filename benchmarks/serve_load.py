"""Load on ``adasent serve``, on loopback: rate, waiting times, and what becomes of every request.

    python benchmarks/serve_load.py MODEL --clients 200 --seconds 30
    python benchmarks/serve_load.py MODEL --clients 200 --seconds 5 --stop-after 2
    python benchmarks/serve_load.py MODEL --clients 170 --long 20 --explain 10 --seconds 15
    python benchmarks/serve_load.py MODEL --against OTHER/src --turns 3 --seconds 10
    python benchmarks/serve_load.py MODEL --page

Each client keeps a connection open and sends the next request when it has the answer. Further
clients are reported separately: with ``--bulk N`` they send 1,000 texts at a time, with
``--long N`` a text of 180 to 2,000 words, with ``--explain N`` they ask for explanations. With
``--half N`` so many connections send half a head, and are opened anew a second after they were
closed. With ``--stop-after`` the service is told to stop (SIGTERM; SIGKILL with ``--kill``) under
load. Exits with 1 if a request got no answer and no error, or, unless the service was stopped, an
error.

``--against`` compares with the service of another source tree, in turns, by the same clients.
``--workers`` is passed on to ``adasent serve``, not to that of the other tree.

``--page`` runs what ``docs/service.md`` shows, writes ``benchmarks/results/serve.csv`` and fills
the table of the page.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

from benchmarks.pages import markdown, put_between_marks  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "serve.csv"
PAGE = ROOT / "docs" / "service.md"
#: A request that has no answer after so many seconds is counted as lost.
PATIENCE = 60
WORDS = [
    "the",
    "film",
    "is",
    "a",
    "warm",
    "and",
    "funny",
    "story",
    "of",
    "a",
    "man",
    "who",
    "was",
    "not",
    "happy",
    "with",
    "his",
    "dull",
    "life",
    "but",
    "the",
    "cast",
    "never",
    "finds",
    "its",
    "way",
    "out",
    "of",
    "an",
    "awful",
    "plot",
    "that",
    "bores",
    "even",
    "when",
    "music",
    "and",
    "scenes",
    "are",
    "lovely",
]


@dataclass
class Tally:
    """What became of the requests of some clients."""

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)  # of those answered with 200

    def row(self, name: str, elapsed: float) -> dict[str, Any]:
        """Counts, rate, and milliseconds that answers took."""
        others = {what: n for what, n in sorted(self.outcomes.items()) if what != "200"}
        waits = [1e3 * seconds for seconds in sorted(self.seconds)]
        p50, p99 = (waits[int(share * (len(waits) - 1))] if waits else 0.0 for share in (0.5, 0.99))
        return {
            "load": name,
            "requests": sum(self.outcomes.values()),
            "answered": self.outcomes["200"],
            "otherwise": ", ".join(f"{n} {what}" for what, n in others.items()) or "none",
            "requests/s": len(waits) / elapsed,
            "median, ms": p50,
            "99 % below, ms": p99,
        }


def request(path: str, texts: list[str]) -> bytes:
    """The bytes of a request."""
    body = json.dumps({"texts": texts}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def sentence(rng: random.Random, shortest: int = 5, longest: int = 38) -> str:
    """Words at random, by default as many as a review sentence has."""
    return " ".join(rng.choices(WORDS, k=rng.randint(shortest, longest)))


async def client(
    where: tuple[str, int], make: Callable[[], bytes], until: float, tally: Tally
) -> None:
    """Ask again and again, and write down what becomes of each request."""
    while time.perf_counter() < until:
        try:
            reader, writer = await asyncio.open_connection(*where)
        except OSError:
            return  # nobody listens any more: nothing was asked
        try:
            while time.perf_counter() < until:
                start = time.perf_counter()
                writer.write(make())
                try:
                    async with asyncio.timeout(PATIENCE):
                        status, keep = await answer(reader)
                except TimeoutError:
                    tally.outcomes["lost"] += 1
                    break
                except (OSError, asyncio.IncompleteReadError):
                    tally.outcomes["connection closed"] += 1
                    break
                tally.outcomes[str(status)] += 1
                if status == 200:
                    tally.seconds.append(time.perf_counter() - start)
                if not keep:
                    break
        finally:
            writer.close()


async def half_request(where: tuple[str, int], until: float) -> None:
    """Hold a connection with half a head open; of one that is closed, open another soon."""
    while (left := until - time.perf_counter()) > 0:
        try:
            reader, writer = await asyncio.open_connection(*where)
            writer.write(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Ty")
            async with asyncio.timeout(left):
                await reader.read()
            writer.close()
        except OSError:  # a timeout is one too
            pass
        await asyncio.sleep(min(1, max(0, until - time.perf_counter())))


async def answer(reader: asyncio.StreamReader) -> tuple[int, bool]:
    """Read an answer whole: its status, and whether the connection stays open."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    fields = dict(line.split(": ", 1) for line in head[1:] if line)
    await reader.readexactly(int(fields["content-length"]))
    return int(head[0].split()[1]), fields.get("connection") != "close"


@contextmanager
def service(
    model: str, source: str | None = None, workers: int = 1
) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int]]]:
    """``adasent serve`` in a process of its own, and where it listens."""
    code = "from adasent.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", model, "--port", "0"]
    if workers > 1:
        command += ["--workers", str(workers)]
    environment = os.environ | ({"PYTHONPATH": source} if source else {})
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=source
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                sys.exit("the service did not start")
            address = urlsplit(next(word for word in line.split() if word.startswith("http")))
            yield process, (str(address.hostname), int(address.port or 0))
        finally:
            process.terminate()


def memory(pid: int) -> float | None:
    """Of a process and those below it, in MB, what they share counted once; None off Linux."""
    total = 0
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for one in (str(pid), *below):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except OSError:
        return None
    return total / 1024


@dataclass(frozen=True)
class Load:
    """What is asked, how often, and what befalls the service meanwhile."""

    clients: int = 200
    seconds: float = 30
    path: str = "/v1/predict"
    bulk: int = 0
    long: int = 0
    explain: int = 0
    half: int = 0
    workers: int = 1
    stop_after: float | None = None
    kill: bool = False

    def __str__(self) -> str:
        what = "explanations" if self.path == "/v1/explain" else "predictions"
        parts = [f"{self.clients} clients, {what}, {self.seconds:g} s"]
        if self.workers > 1:
            parts.append(f"{self.workers} workers")
        parts += [f"and {n} that {what}" for n, what, _ in self.others()]
        if self.half:
            parts.append(f"beside {self.half} half requests")
        if self.stop_after is not None:
            parts.append(f"{'killed' if self.kill else 'stopped'} after {self.stop_after:g} s")
        return ", ".join(parts)

    def others(self) -> list[tuple[int, str, str]]:
        """Further clients: how many, what they do, and the name of their row."""
        found = [
            (self.bulk, "send 1,000 texts a request", "with 1,000 texts"),
            (self.long, "send texts of 180 to 2,000 words", "with long texts"),
            (self.explain, "ask for explanations", "with explanations"),
        ]
        return [one for one in found if one[0]]


#: What the page shows.
SHOWN = (
    Load(),
    Load(seconds=10, bulk=3),
    Load(20, 6, "/v1/explain"),
    Load(170, 15, long=20, explain=10),
    Load(seconds=10, half=1500),
    Load(seconds=10, workers=2),
    Load(seconds=5, stop_after=2),
    Load(seconds=5, stop_after=2, kill=True),
)


def requests(load: Load) -> dict[str, list[bytes]]:
    """What each kind of client sends, by the names of :meth:`Load.others`; ours has none."""
    rng = random.Random(0)
    return {
        "": [request(load.path, [sentence(rng)]) for _ in range(1000)],
        "with 1,000 texts": [request("/v1/predict", [sentence(rng) for _ in range(1000)])],
        "with long texts": [request("/v1/predict", [sentence(rng, 180, 2000)]) for _ in range(200)],
        "with explanations": [request("/v1/explain", [sentence(rng)]) for _ in range(200)],
    }


async def run(
    model: str, load: Load, source: str | None = None
) -> tuple[list[dict[str, Any]], bool]:
    """A row, and one for each kind of further clients; whether every request was accounted for."""
    rng = random.Random(1)
    sent = requests(load)
    groups = {"": (load.clients, str(load))}
    groups |= {name: (n, f"the {n} of these {name}") for n, _, name in load.others()}
    tallies = {name: Tally() for name in groups}
    with service(model, source, load.workers) as (process, where):
        start = time.perf_counter()
        until = start + load.seconds
        clients = [
            client(where, partial(rng.choice, sent[name]), until, tallies[name])
            for name, (n, _) in groups.items()
            for _ in range(n)
        ]
        clients += [half_request(where, until) for _ in range(load.half)]
        if load.stop_after is not None:
            how = signal.SIGKILL if load.kill else signal.SIGTERM
            loop = asyncio.get_running_loop()
            loop.call_later(load.stop_after, process.send_signal, how)
        await asyncio.gather(*clients)
        elapsed = time.perf_counter() - start
        used = memory(process.pid) if load.stop_after is None else None
    if load.stop_after is not None:
        elapsed = load.stop_after
    rows = [tallies[name].row(title, elapsed) for name, (_, title) in groups.items()]
    for row in rows:
        row["memory, MB"] = ""
    if used is not None:
        rows[0]["memory, MB"] = used
    outcomes = sum((tally.outcomes for tally in tallies.values()), Counter[str]())
    allowed = {"200"} if load.stop_after is None else set(outcomes) - {"lost"}
    return rows, bool(outcomes) and set(outcomes) <= allowed


def compare(model: str, load: Load, other: str, turns: int) -> bool:
    """Run a load on two source trees by turns; print both medians over turns and their ratios."""
    found: dict[str | None, list[dict[str, Any]]] = {None: [], other: []}
    well = True
    for turn in range(turns):
        for source in (None, other) if turn % 2 else (other, None):
            one = load if source is None else replace(load, workers=1)  # it may know no others
            rows, accounted = asyncio.run(run(model, one, source))
            found[source].append(rows[0])
            well = well and accounted
    for what in ("requests/s", "median, ms", "99 % below, ms"):
        ours, theirs = (statistics.median(row[what] for row in found[s]) for s in (None, other))
        print(f"{what}: {ours:,.1f}, {other}: {theirs:,.1f}, ratio {ours / theirs:.2f}")
    return well


def shown(rows: list[dict[str, Any]]) -> str:
    """Rows of the CSV as the table of the page."""
    cells = [[f"{float(v):,.0f}" if _is_number(v) else v for v in row.values()] for row in rows]
    return markdown(list(rows[0]), cells)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def write(rows: list[dict[str, Any]]) -> None:
    """The CSV, and the page from it."""
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    page = PAGE.read_text(encoding="utf-8")
    page = put_between_marks(page, "load", "serve_load.py", shown(rows))
    PAGE.write_text(page, encoding="utf-8")


def main() -> int:
    """Read the options and run; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of a model")
    parser.add_argument("--path", default="/v1/predict", choices=["/v1/predict", "/v1/explain"])
    parser.add_argument("--clients", type=int, default=200)
    for kind in ("bulk", "long", "explain", "half"):
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--against", metavar="SRC", help="source tree of another adasent")
    parser.add_argument("--turns", type=int, default=3, help="of each tree, with --against")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--stop-after", type=float)
    parser.add_argument("--kill", action="store_true", help="SIGKILL in place of SIGTERM")
    parser.add_argument("--page", action="store_true", help="run and write what the page shows")
    options = vars(parser.parse_args())
    model, page = options.pop("model"), options.pop("page")
    other, turns = options.pop("against"), options.pop("turns")
    if other is not None:
        return 0 if compare(model, Load(**options), other, turns) else 1
    rows, well = [], True
    for load in SHOWN if page else (Load(**options),):
        found, accounted = asyncio.run(run(model, load))
        print(*(f"{name}: {value}" for row in found for name, value in row.items()), sep="\n")
        rows += found
        well = well and accounted
    if page:
        write(rows)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
