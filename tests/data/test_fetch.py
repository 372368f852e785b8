import hashlib
import importlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from adasent.data import cache_dir, fetch, fetch_file, pip_download
from adasent.errors import FetchError

# The package exports a function of the same name, which hides the module from `import ... as`.
module = importlib.import_module("adasent.data.fetch")

BODY = b"some text\nmore text\n"


def left_over(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*")) if folder.exists() else []


def test_download_lands_in_the_cache_and_is_not_repeated(site, cache, enter, remote):
    site.pages["/toy.txt"] = BODY
    enter(remote("data/toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    assert fetch("toy") == [cache / "data/toy.txt"]
    assert (cache / "data/toy.txt").read_bytes() == BODY
    assert fetch("toy") == [cache / "data/toy.txt"]
    assert site.asked == ["/toy.txt"]
    assert left_over(cache) == ["data", "toy.txt"]


def test_progress_bar_changes_nothing_and_stays_off_stdout(site, cache, enter, capsys, remote):
    site.pages["/toy.txt"] = BODY
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    assert fetch_file("toy", progress=True).read_bytes() == BODY
    assert capsys.readouterr().out == ""


def test_archive_shared_by_two_files_is_downloaded_once(site, cache, enter, remote, tarball):
    site.pages["/a.tar.gz"] = tarball({"deep/README": b"?", "deep/x.pos": b"good", "x.neg": b"bad"})
    url = (f"{site.url}/a.tar.gz",)
    enter(
        remote("data/1.pos", b"good", urls=url, member="x.pos"),
        remote("data/1.neg", b"bad", urls=url, member="x.neg"),
    )
    assert [path.read_bytes() for path in fetch("toy")] == [b"good", b"bad"]
    assert site.asked == ["/a.tar.gz"]
    assert left_over(cache) == ["1.neg", "1.pos", "data"]


def test_second_address_is_tried(site, cache, enter, remote):
    site.pages["/new.txt"] = BODY
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/old.txt", f"{site.url}/new.txt")))
    assert fetch_file("toy").read_bytes() == BODY
    assert site.asked == ["/old.txt", "/new.txt"]


def test_wrong_bytes_leave_nothing_and_name_both_digests(site, cache, enter, remote):
    site.pages["/toy.txt"] = b"<html>moved</html>"
    file = remote("data/toy.txt", BODY, urls=(f"{site.url}/toy.txt",))
    enter(file)
    with pytest.raises(FetchError) as caught:
        fetch("toy")
    message = str(caught.value)
    assert f"{site.url}/toy.txt: expected {file.size} bytes with sha256 {file.sha256}" in message
    assert "got 18 bytes with sha256 " in message
    assert "Set ADASENT_DATA to a mirror" in message
    assert f"put the file at {cache / 'data/toy.txt'} yourself" in message
    assert left_over(cache) == []


def test_truncated_download_leaves_nothing(site, cache, enter, remote):
    site.pages["/toy.txt"] = BODY
    site.cut_to = 5
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    with pytest.raises(FetchError, match=r"no usable answer|got 5 bytes"):
        fetch("toy")
    assert left_over(cache) == []


def test_missing_page_names_address_and_status(site, cache, enter, remote):
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    with pytest.raises(FetchError, match=rf"{site.url}/toy.txt: HTTP status 404"):
        fetch("toy")
    assert left_over(cache) == []


def test_no_network(site, cache, enter, remote):
    site.server.server_close()
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    with pytest.raises(FetchError, match=r"no usable answer \(ConnectionError\)"):
        fetch("toy")
    assert left_over(cache) == []


@pytest.mark.parametrize(
    ("members", "n_cut", "complaint"),
    [
        ({"other": b"good"}, 0, "the archive does not hold x.pos"),
        ({"x.pos": b"good and more"}, 0, "expected x.pos of 4 bytes, got 13"),
        ({"x.pos": b"evil"}, 0, "got 4 bytes with sha256"),
        ({"x.pos": b"good"}, 30, "not a readable archive"),
        ({}, 40, "not a readable archive"),
    ],
)
def test_bad_archives(site, cache, enter, remote, tarball, members, n_cut, complaint):
    body = tarball(members)
    site.pages["/a.tar.gz"] = body[: len(body) - n_cut]
    enter(remote("x.pos", b"good", urls=(f"{site.url}/a.tar.gz",), member="x.pos"))
    with pytest.raises(FetchError, match=complaint):
        fetch("toy")
    assert left_over(cache) == []


def test_damaged_cache_is_replaced(site, cache, enter, remote):
    site.pages["/toy.txt"] = BODY
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    cache.mkdir()
    (cache / "toy.txt").write_bytes(b"rotten")
    assert fetch_file("toy").read_bytes() == BODY


def test_damaged_cache_is_named_when_it_cannot_be_replaced(cache, enter, remote):
    enter(remote("toy.txt", BODY))
    cache.mkdir()
    (cache / "toy.txt").write_bytes(b"rotten")
    with pytest.raises(FetchError, match=r"cache/toy.txt: expected 20 bytes .*, got 6 bytes"):
        fetch("toy")
    assert (cache / "toy.txt").read_bytes() == b"rotten"


def test_mirror_folder_is_read_in_place(tmp_path, cache, enter, monkeypatch, remote):
    enter(remote("data/toy.txt", BODY))
    (tmp_path / "mirror/data").mkdir(parents=True)
    (tmp_path / "mirror/data/toy.txt").write_bytes(BODY)
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path / "mirror"))
    assert fetch_file("TOY") == tmp_path / "mirror/data/toy.txt"
    assert not cache.exists()


def test_wrong_file_in_a_mirror_is_an_error_not_a_reason_to_download(
    tmp_path, site, cache, enter, monkeypatch, remote
):
    site.pages["/toy.txt"] = BODY
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    (tmp_path / "toy.txt").write_bytes(b"stale")
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path))
    with pytest.raises(FetchError, match=r"toy.txt: expected .* replace it in the mirror"):
        fetch("toy")
    assert site.asked == []


def test_file_missing_in_the_mirror_is_downloaded(
    tmp_path, site, cache, enter, monkeypatch, remote
):
    site.pages["/toy.txt"] = BODY
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    (tmp_path / "mirror").mkdir()
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path / "mirror"))
    assert fetch_file("toy") == cache / "toy.txt"


def test_missing_mirror_folder(tmp_path, cache, enter, monkeypatch, remote):
    enter(remote("toy.txt", BODY))
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path / "gone"))
    with pytest.raises(FetchError, match=r"expected an existing folder or an http\(s\) address"):
        fetch("toy")


def test_mirror_address_comes_before_the_public_one(site, cache, enter, monkeypatch, remote):
    site.pages["/pub/data/toy%201.txt"] = BODY
    enter(remote("data/toy 1.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    monkeypatch.setenv("ADASENT_DATA", f"{site.url}/pub/")
    assert fetch_file("toy") == cache / "data/toy 1.txt"
    assert site.asked == ["/pub/data/toy%201.txt"]


def test_mirror_address_without_the_file_falls_back(site, cache, enter, monkeypatch, remote):
    site.pages["/toy.txt"] = BODY
    enter(remote("data/toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    monkeypatch.setenv("ADASENT_DATA", f"{site.url}/pub")
    assert fetch_file("toy").read_bytes() == BODY
    assert site.asked == ["/pub/data/toy.txt", "/toy.txt"]


def test_file_without_a_public_address_says_so(cache, enter, remote):
    enter(remote("vectors/toy.gz", BODY))
    with pytest.raises(FetchError, match="no public address and comes from a mirror only"):
        fetch("toy")


def test_changed_file_is_hashed_again(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"one")
    first = module._digest(path, 3, 1)
    path.write_bytes(b"two")
    assert module._digest(path, 3, 2) != first


def test_fetch_file_refuses_several_files(tmp_path, cache, enter, monkeypatch, remote):
    enter(remote("a", b"a"), remote("b", b"b"))
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path))
    with pytest.raises(FetchError, match="has 2 files, not one"):
        fetch_file("toy")


def test_unusable_cache_names_the_variable(tmp_path, site, enter, monkeypatch, remote):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ADASENT_CACHE", str(tmp_path / "file"))
    monkeypatch.delenv("ADASENT_DATA", raising=False)
    site.pages["/toy.txt"] = BODY
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    with pytest.raises(FetchError, match=r"cannot write to the cache .* set ADASENT_CACHE"):
        fetch("toy")


def test_full_disk_leaves_nothing(site, cache, enter, monkeypatch, remote):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", fail)
    enter(remote("toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    with pytest.raises(FetchError, match="No space left on device"):
        fetch("toy")
    assert left_over(cache) == []


def test_path_in_the_way_inside_the_cache(site, cache, enter, remote):
    cache.mkdir()
    (cache / "data").write_text("in the way")
    site.pages["/toy.txt"] = BODY
    enter(remote("data/toy.txt", BODY, urls=(f"{site.url}/toy.txt",)))
    with pytest.raises(FetchError, match="cannot write to the cache"):
        fetch("toy")
    assert left_over(cache) == ["data"]


def test_unreadable_mirror_file(tmp_path, cache, enter, monkeypatch, remote):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    enter(remote("toy.txt", BODY))
    (tmp_path / "toy.txt").write_bytes(BODY)
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path))
    monkeypatch.setattr(module, "_digest", refuse)
    with pytest.raises(FetchError, match=r"toy.txt: cannot be read \(Permission denied\)"):
        fetch("toy")


def test_default_cache_is_the_users(monkeypatch):
    monkeypatch.delenv("ADASENT_CACHE", raising=False)
    assert "adasent" in str(cache_dir()).lower()


def test_package_is_downloaded_by_name(cache, enter, monkeypatch, remote):
    calls = []

    def download(package, version, filename, sha256, folder, *, hurry):
        calls.append((package, version, filename, sha256))
        path = folder / "Toy-1.0.tar.gz"
        path.write_bytes(BODY)
        return path

    monkeypatch.setattr(module, "pip_download", download)
    file = remote("packages/toy-1.0.tar.gz", BODY, package="toy", version="1.0")
    enter(file)
    assert fetch_file("toy") == cache / "packages/toy-1.0.tar.gz"
    assert calls == [("toy", "1.0", "toy-1.0.tar.gz", file.sha256)]
    assert left_over(cache) == ["packages", "toy-1.0.tar.gz"]


def test_failing_package_download_leaves_nothing(cache, enter, monkeypatch, remote):
    def download(*_, hurry):
        raise FetchError("pip download toy==1.0: ERROR: offline")

    monkeypatch.setattr(module, "pip_download", download)
    enter(remote("packages/toy-1.0.tar.gz", BODY, package="toy", version="1.0"))
    with pytest.raises(FetchError, match=r"ERROR: offline\. Set ADASENT_DATA"):
        fetch("toy")
    assert left_over(cache) == []


def test_offline_nothing_is_downloaded(cache, enter, monkeypatch, remote):
    def download(*_, hurry):
        raise AssertionError("this is a download")

    monkeypatch.setattr(module, "pip_download", download)
    enter(remote("packages/toy-1.0.tar.gz", BODY, package="toy", version="1.0"))
    monkeypatch.setenv("ADASENT_OFFLINE", "1")
    with pytest.raises(FetchError, match="ADASENT_OFFLINE is set, so nothing is downloaded"):
        fetch("toy")
    assert not module.at_hand("toy")
    path = cache / "packages" / "toy-1.0.tar.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(BODY)
    assert module.at_hand("toy")
    assert fetch_file("toy") == path  # what is here needs no network


def test_in_a_hurry_pip_tries_once(tmp_path, monkeypatch):
    commands = []

    def run(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, "", "ERROR: no network")

    monkeypatch.setattr(subprocess, "run", run)
    for hurry in (True, False):
        with pytest.raises(FetchError, match="no network"):
            pip_download("toy", "1.0", "toy-1.0.tar.gz", "0" * 64, tmp_path, hurry=hurry)
    assert commands[0][-4:] == ["--retries", "0", "--timeout", "5"]
    assert "--retries" not in commands[1]


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of distributions that pip takes in place of any index."""
    pytest.importorskip("pip", reason="this environment has no pip")
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null" if sys.platform != "win32" else "nul")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def wheel(folder: Path) -> tuple[str, str]:
    """A minimal wheel; returns its name and digest."""
    name = "adasent_toy-1.0-py3-none-any.whl"
    info = "adasent_toy-1.0.dist-info"
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: adasent-toy\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return name, hashlib.sha256((folder / name).read_bytes()).hexdigest()


def test_wheel_is_downloaded_and_not_installed(tmp_path, index):
    name, digest = wheel(index)
    path = pip_download("adasent-toy", "1.0", name, digest, tmp_path)
    assert path.read_bytes() == (index / name).read_bytes()


def test_other_digest_is_refused_by_pip(tmp_path, index):
    name, _ = wheel(index)
    with pytest.raises(FetchError, match=r"pip download adasent-toy==1\.0: .*HASHES"):
        pip_download("adasent-toy", "1.0", name, "0" * 64, tmp_path)


def test_unknown_package(tmp_path, index, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # the reason is read out of what pip writes
    with pytest.raises(FetchError, match="No matching distribution found"):
        pip_download("adasent-toy", "1.0", "adasent-toy-1.0.tar.gz", "0" * 64, tmp_path)


def test_python_without_pip(tmp_path, monkeypatch):
    class Done:
        returncode = 1
        stderr = "/usr/bin/python: No module named pip\n"

    monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: Done)
    with pytest.raises(FetchError, match="No module named pip"):
        pip_download("toy", "1.0", "toy-1.0.tar.gz", "0" * 64, tmp_path)


def test_source_archives_and_wheels_are_asked_for_as_such(tmp_path, monkeypatch):
    commands = []

    def run(command, **_):
        commands.append(command)
        (tmp_path / "download").mkdir(exist_ok=True)
        (tmp_path / "download/x").write_bytes(b"")
        return type("Done", (), {"returncode": 0, "stderr": ""})

    monkeypatch.setattr(module.subprocess, "run", run)
    pip_download("toy", "1.0", "toy-1.0.tar.gz", "0" * 64, tmp_path)
    pip_download("toy", "1.0", "toy-1.0-py3-none-any.whl", "0" * 64, tmp_path)
    assert commands[0][commands[0].index("--no-binary") + 1] == "toy"
    assert commands[1][commands[1].index("--only-binary") + 1] == "toy"
    assert all("--require-hashes" in command for command in commands)


@pytest.mark.network
def test_snippets_come_from_the_package_index(cache):
    assert fetch("snippets") == [cache / "packages/vaderSentiment-3.3.2.tar.gz"]
