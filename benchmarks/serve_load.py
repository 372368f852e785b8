"""Load on ``adasent serve``, on loopback: rate, waiting times, and what becomes of every request.

    python benchmarks/serve_load.py MODEL --clients 200 --seconds 30
    python benchmarks/serve_load.py MODEL --clients 200 --seconds 5 --stop-after 2

Each client keeps a connection open and sends the next request when it has the answer. With
``--bulk N``, so many more clients send 1,000 texts at a time; they are reported separately. With
``--stop-after`` the service is told to stop (SIGTERM; SIGKILL with ``--kill``) under load. Exits
with 1 if a request got no answer and no error, or, unless the service was stopped, an error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

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

    def report(self, name: str, elapsed: float) -> str:
        """One paragraph."""
        counts = ", ".join(f"{n} {what}" for what, n in sorted(self.outcomes.items()))
        lines = [f"{name}: {sum(self.outcomes.values())} requests: {counts}"]
        if self.seconds:
            waits = sorted(self.seconds)
            p50, p99 = (waits[int(share * (len(waits) - 1))] for share in (0.5, 0.99))
            lines.append(
                f"  {len(waits) / elapsed:,.0f} requests/s, p50 {1e3 * p50:.1f} ms, "
                f"p99 {1e3 * p99:.1f} ms, longest {1e3 * waits[-1]:.1f} ms"
            )
        return "\n".join(lines)


def request(path: str, texts: list[str]) -> bytes:
    """The bytes of a request."""
    body = json.dumps({"texts": texts}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def sentence(rng: random.Random) -> str:
    """Words at random, as many as a review sentence has."""
    return " ".join(rng.choices(WORDS, k=rng.randint(5, 38)))


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


async def answer(reader: asyncio.StreamReader) -> tuple[int, bool]:
    """Read an answer whole: its status, and whether the connection stays open."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    fields = dict(line.split(": ", 1) for line in head[1:] if line)
    await reader.readexactly(int(fields["content-length"]))
    return int(head[0].split()[1]), fields.get("connection") != "close"


@contextmanager
def service(model: str) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int]]]:
    """``adasent serve`` in a process of its own, and where it listens."""
    code = "from adasent.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", model, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                sys.exit("the service did not start")
            address = urlsplit(next(word for word in line.split() if word.startswith("http")))
            yield process, (str(address.hostname), int(address.port or 0))
        finally:
            process.terminate()


async def load(options: argparse.Namespace) -> int:
    """Run everything; the exit code."""
    rng = random.Random(0)
    single = [request(options.path, [sentence(rng)]) for _ in range(1000)]
    bulk = request("/v1/predict", [sentence(rng) for _ in range(1000)])
    small, large = Tally(), Tally()
    with service(options.model) as (process, where):
        start = time.perf_counter()
        until = start + options.seconds
        clients = [
            client(where, lambda: rng.choice(single), until, small) for _ in range(options.clients)
        ] + [client(where, lambda: bulk, until, large) for _ in range(options.bulk)]
        if options.stop_after is not None:
            how = signal.SIGKILL if options.kill else signal.SIGTERM
            loop = asyncio.get_running_loop()
            loop.call_later(options.stop_after, process.send_signal, how)
        await asyncio.gather(*clients)
        elapsed = time.perf_counter() - start
    print(small.report(f"{options.clients} clients, {options.path}, 1 text", elapsed))
    if options.bulk:
        print(large.report(f"{options.bulk} clients, /v1/predict, 1,000 texts", elapsed))
    outcomes = small.outcomes + large.outcomes
    allowed = {"200"} if options.stop_after is None else set(outcomes) - {"lost"}
    return 0 if outcomes and set(outcomes) <= allowed else 1


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of a model")
    parser.add_argument("--path", default="/v1/predict", choices=["/v1/predict", "/v1/explain"])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--bulk", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--stop-after", type=float)
    parser.add_argument("--kill", action="store_true", help="SIGKILL in place of SIGTERM")
    sys.exit(asyncio.run(load(parser.parse_args())))


if __name__ == "__main__":
    main()
