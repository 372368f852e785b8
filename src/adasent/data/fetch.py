"""Gets the files of a registry name, verified, from a mirror, the cache or a public address.

`ADASENT_DATA` names a mirror, either a folder (read in place) or an http(s) address (downloaded
into the cache). `ADASENT_CACHE` replaces the cache folder. A file is looked for in the mirror
folder, in the cache, at the mirror address, and last at its public address. It counts as found
only when its sha256 is the registry's; until then it has a temporary name that is removed again.
With `ADASENT_OFFLINE` nothing is downloaded.

The transfer is pooch's. Its `create`, `retrieve` and `Untar` are not used: they know one address a
file, find a member only by its whole path, unpack whatever size it has, and write to the terminal.
"""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
import tarfile
import tempfile
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast
from urllib.parse import quote

from adasent.checks import switched_on
from adasent.data.registry import RemoteFile, describe
from adasent.errors import DataError, FetchError
from adasent.text.unpacking import GZIP_MAGIC, open_gzip, open_zip

logger = logging.getLogger(__name__)

_TIMEOUT_S = 30
_ADDRESS = ("http://", "https://")
# Of a download that nobody has asked for by name: a fit without a network is not to wait for it.
_HURRIED_S = 5
_CHUNK = 1 << 16


def cache_dir() -> Path:
    """The folder that downloads are kept in: `ADASENT_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("ADASENT_CACHE", "").strip()
    if chosen:
        return Path(chosen).expanduser()
    import pooch

    return Path(pooch.os_cache("adasent"))


def is_offline() -> bool:
    """Whether `ADASENT_OFFLINE` forbids downloads."""
    return switched_on("ADASENT_OFFLINE")


def is_mirror_address() -> bool:
    """Whether `ADASENT_DATA` is an address, and not a folder."""
    return os.environ.get("ADASENT_DATA", "").strip().startswith(_ADDRESS)


def fetch(name: str, *, progress: bool = False, hurry: bool = False) -> list[Path]:
    """Get every file of a registry entry.

    Parameters
    ----------
    name
        Registry name, in any letter case.
    progress
        Whether downloads from an address draw a bar on the terminal.
    hurry
        Give up after seconds where there is no network, not after minutes.

    Returns
    -------
    One path a file, in the order of the registry. Do not write to them: they may lie in a mirror.

    Raises
    ------
    FetchError
        If a file cannot be had or is not the expected one; nothing half-written stays behind.
    """
    with _Downloads(progress, hurry=hurry) as downloads:
        return [_obtain(file, downloads) for file in describe(name).files]


def fetch_file(name: str, *, progress: bool = False, hurry: bool = False) -> Path:
    """Get the one file of an entry that has a single file, such as ``"minilm"``."""
    paths = fetch(name, progress=progress, hurry=hurry)
    if len(paths) != 1:
        raise FetchError(f"{name!r} has {len(paths)} files, not one; use fetch({name!r})")
    return paths[0]


def at_hand(name: str) -> bool:
    """Whether every file of an entry is in the mirror folder or the cache, whole or not."""
    mirror = os.environ.get("ADASENT_DATA", "").strip()
    folders = [cache_dir()]
    if mirror and not is_mirror_address():
        folders.append(Path(mirror).expanduser())
    return all(
        any((folder / file.path).is_file() for folder in folders) for file in describe(name).files
    )


def within_reach(name: str) -> bool:
    """Whether an entry is at hand, or has addresses that it can be fetched from."""
    files = describe(name).files
    return at_hand(name) or is_mirror_address() or all(f.urls or f.package for f in files)


def _obtain(file: RemoteFile, downloads: _Downloads) -> Path:
    cached = cache_dir() / file.path
    problems: list[str] = []
    sources = {url: partial(downloads.get, url, file, file.member) for url in file.urls}
    if file.package is not None:
        sources[f"package {file.package}"] = partial(downloads.get_package, file)

    mirror = os.environ.get("ADASENT_DATA", "").strip()
    if is_mirror_address():
        address = f"{mirror.rstrip('/')}/{quote(file.path)}"
        sources = {address: partial(downloads.get, address, file)} | sources
    elif mirror:
        mirrored = _in_folder(Path(mirror).expanduser(), file)
        if mirrored is not None:
            return mirrored
        problems.append(f"the mirror {mirror} does not have it")

    if cached.is_file():
        mismatch = _mismatch(cached, file)
        if mismatch is None:
            return cached
        problems.append(f"{cached}: {mismatch}")

    if sources and is_offline():
        problems.append("ADASENT_OFFLINE is set, so nothing is downloaded")
        sources = {}
    for source, get in sources.items():
        try:
            return _install(get(), file, cached, source)
        except FetchError as error:
            problems.append(str(error))
    if not file.urls and file.package is None:
        problems.append("it has no public address and comes from a mirror only")
    raise FetchError(
        f"cannot get {file.name} ({file.size:,} bytes, sha256 {file.sha256}): "
        f"{'; '.join(problems)}. Set ADASENT_DATA to a mirror (a folder or an http address) "
        f"that holds {file.path}, or put the file at {cached} yourself"
    )


def _in_folder(folder: Path, file: RemoteFile) -> Path | None:
    """The file below a mirror folder; a wrong file there is an error, not a reason to go on."""
    if not folder.is_dir():
        raise FetchError(
            f"ADASENT_DATA is {str(folder)!r}: expected an existing folder or an http(s) address; "
            "correct or unset it"
        )
    path = folder / file.path
    if not path.is_file():
        return None
    mismatch = _mismatch(path, file)
    if mismatch is not None:
        raise FetchError(f"{path}: {mismatch}; replace it in the mirror, or unset ADASENT_DATA")
    return path


def _mismatch(path: Path, file: RemoteFile) -> str | None:
    """What is wrong with the bytes at `path`, or None."""
    try:
        stat = path.stat()
        digest = _digest(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if digest == file.sha256:
        return None
    return (
        f"expected {file.size:,} bytes with sha256 {file.sha256}, "
        f"got {stat.st_size:,} bytes with sha256 {digest}"
    )


@lru_cache(maxsize=256)
def _digest(path: Path, size: int, mtime_ns: int) -> str:
    """Digest of a file; size and time are in the key so that a changed file is read again."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _install(parcel: Path, file: RemoteFile, target: Path, source: str) -> Path:
    """Move a verified download to its place in the cache."""
    mismatch = _mismatch(parcel, file)
    if mismatch is not None:
        raise FetchError(f"{source}: {mismatch}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        parcel.replace(target)
    except OSError as error:
        raise _unwritable(target, error) from error
    logger.info("fetched %s from %s", target, source)
    return target


def _unwritable(path: Path, error: OSError) -> FetchError:
    return FetchError(
        f"cannot write to the cache {path} ({error.strerror}); set ADASENT_CACHE to another folder"
    )


class _Downloads(ExitStack):
    """Downloads of one fetch, not yet verified; removed on leaving.

    An archive shared by several files travels once.
    """

    def __init__(self, progress: bool, *, hurry: bool = False) -> None:
        super().__init__()
        self._progress = progress
        self._hurry = hurry
        self._bodies: dict[str, Path] = {}

    def get(self, url: str, file: RemoteFile, member: str | None = None) -> Path:
        """The file at the address, or that member of the tar archive there."""
        if url not in self._bodies:
            self._bodies[url] = self._download(url)
        if member is None:
            return self._bodies.pop(url)
        try:
            with self._bodies[url].open("rb") as stream:
                content = tar_member(stream, member, file.size)
        except (tarfile.TarError, EOFError, OSError, MemoryError, OverflowError) as error:
            raise FetchError(f"{url}: not a readable archive ({error})") from error
        except (LookupError, DataError) as error:
            raise FetchError(f"{url}: {error}") from error
        parcel = self._folder() / file.name
        parcel.write_bytes(content)
        return parcel

    def get_package(self, file: RemoteFile) -> Path:
        """The distribution of a package."""
        assert file.package is not None
        assert file.version is not None
        return pip_download(
            file.package, file.version, file.name, file.sha256, self._folder(), hurry=self._hurry
        )

    def _folder(self) -> Path:
        """A new empty folder, inside the cache so that a move to its place there is atomic."""
        cache = cache_dir()
        try:
            cache.mkdir(parents=True, exist_ok=True)
            folder = self.enter_context(tempfile.TemporaryDirectory(prefix=".partial-", dir=cache))
        except OSError as error:
            raise _unwritable(cache, error) from error
        return Path(folder)

    def _download(self, url: str) -> Path:
        import pooch
        import requests

        body = self._folder() / "body"
        bar = _Bar(PurePosixPath(url).name) if self._progress else None
        seconds = _HURRIED_S if self._hurry else _TIMEOUT_S
        get = pooch.HTTPDownloader(progressbar=bar or False, chunk_size=_CHUNK, timeout=seconds)
        try:
            get(url, str(body), None)
        except requests.HTTPError as error:
            status = "unknown" if error.response is None else error.response.status_code
            raise FetchError(f"{url}: HTTP status {status}") from error
        except requests.RequestException as error:
            raise FetchError(f"{url}: no usable answer ({type(error).__name__})") from error
        except OSError as error:
            raise _unwritable(body, error) from error
        finally:
            if bar is not None:
                bar.close()
        return body


def zip_member(archive: IO[bytes], name: str) -> bytes:
    """The bytes of the file of that name, in any folder of a zip archive such as a wheel."""
    with open_zip(archive, f"the archive with {name}") as zipped:
        for path in zipped.namelist():
            if PurePosixPath(path).name == name:
                return zipped.read(path)
    raise LookupError(f"the archive does not hold {name}")


def tar_member(archive: IO[bytes], name: str, size: int | None = None) -> bytes:
    """The bytes of the regular file of that name, in any folder of a tar archive, gzipped or not.

    Raises LookupError if there is none, or none of that size: only a member of the expected size is
    read, so that a hostile archive cannot fill the memory.
    """
    packed = archive.read(2) == GZIP_MAGIC
    archive.seek(0)
    stream = open_gzip(cast(BinaryIO, archive), f"the archive with {name}") if packed else archive
    with tarfile.open(fileobj=stream, mode="r:") as tar:
        for info in tar:
            if info.isfile() and PurePosixPath(info.name).name == name:
                if size is not None and info.size != size:
                    raise LookupError(f"expected {name} of {size:,} bytes, got {info.size:,}")
                member = tar.extractfile(info)
                assert member is not None
                return member.read()
    raise LookupError(f"the archive does not hold {name}")


def pip_download(
    package: str, version: str, filename: str, sha256: str, folder: Path, *, hurry: bool = False
) -> Path:
    """Download one distribution with the running Python's pip; it is not installed.

    Parameters
    ----------
    filename
        Name of the distribution; the ending says whether it is a wheel or a source archive.
    sha256
        Digest that pip must find, before it looks inside.
    folder
        Existing folder that the file is written to.
    hurry
        One try, of seconds for each answer.

    Returns
    -------
    The downloaded file; its name may differ from `filename` in letter case.

    Raises
    ------
    FetchError
        With pip's own last words, when pip is missing, offline, or finds another digest.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{package}=={version} --hash=sha256:{sha256}\n", encoding="utf-8")
    form = "--only-binary" if filename.endswith(".whl") else "--no-binary"
    target = folder / "download"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-color"]
    command += ["--disable-pip-version-check", "--no-deps", form, package]
    command += ["--require-hashes", "-r", str(requirements), "--dest", str(target)]
    command += ["--retries", "0", "--timeout", str(_HURRIED_S)] if hurry else []
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = list(target.glob("*")) if target.is_dir() else []
    if done.returncode != 0 or len(found) != 1:
        raise FetchError(f"pip download {package}=={version}: {_last_words(done.stderr)}")
    return found[0]


def _last_words(stderr: str) -> str:
    """The line of pip's output that says why: the last error, else the last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no message"])[-1]


class _Bar:
    """The progress object that pooch drives, drawn by rich on standard error."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        columns: list[Any] = [TextColumn(title), BarColumn(), DownloadColumn()]
        self._display = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._display.add_task(title, total=None)
        self.total = 0  # set by pooch; 0 where the server does not say
        self._display.start()

    def update(self, n_bytes: int) -> None:
        self._display.update(self._task, advance=n_bytes, total=self.total or None)

    def reset(self) -> None:
        self._display.reset(self._task)

    def close(self) -> None:
        self._display.stop()
