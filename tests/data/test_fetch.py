"""fetch: places are tried in order, files are verified, no partial file is left."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import http.server
import multiprocessing
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from pathlib import Path

import pytest
from full_disk import full_disk
from packing import FILES, pack_tar, pack_zip

from transferbench.data import fetch
from transferbench.data.archive import digest, members
from transferbench.data.fetch import File, Members, Url, Wheel
from transferbench.errors import Unavailable, UserError
from transferbench.settings import Settings

GOOD = b"good data\n" * 1000
BAD = b"bad data\n"
NAME = "toy/sub/a file.bin"
SPAWN = multiprocessing.get_context("spawn")


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


FILE = File(NAME, len(GOOD), sha256(GOOD), (), "toy licence")


def from_origins(*origins: Wheel | Url) -> File:
    return dataclasses.replace(FILE, origins=origins)


def stored(settings: Settings) -> list[str]:
    """Files in the cache, without locks and the marker of the notice."""
    raw = settings.data / "raw"
    files = [p for p in raw.rglob("*") if not p.is_dir()]
    stored_files = (p for p in files if p.suffix != ".lock" and p.name != ".notice")
    return sorted(p.relative_to(raw).as_posix() for p in stored_files)


def mirror(folder: Path, content: bytes) -> Path:
    path = folder / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return folder


class Server(http.server.ThreadingHTTPServer):
    """Answers each path with the next of its answers, repeating the last; records requests.

    An answer is bytes, or a callable that takes the handler.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, list] = {}
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_) -> None:
        """Print nothing: the tests kill clients."""


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        answers = self.server.answers.get(self.path)
        if not answers:
            return self.send_error(404)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if callable(answer):
            return answer(self)
        self.start(len(answer))
        self.wfile.write(answer)

    def start(self, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(data=tmp_path / "data", results=tmp_path / "results")


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    """Hide the proxy and pip configuration of this machine and wheels of other tests."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)  # so that it is read from the environment again
    fetch._download_wheel.cache_clear()
    for name in list(os.environ):
        if name.upper().startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")


def make_wheel(
    folder: Path, files: dict[str, bytes], compression: int = zipfile.ZIP_STORED
) -> Path:
    info = "toy_data-1.0.dist-info"
    entries = dict(files)
    entries[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: toy-data\nVersion: 1.0\n"
    entries[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = ""
    for name, content in entries.items():
        sha = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={sha},{len(content)}\n"
    entries[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    folder.mkdir()
    path = folder / "toy_data-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


# Places


def test_importing_fetch_is_cheap():
    code = "import sys, transferbench.data.fetch; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pooch", "requests", "filelock", "tqdm", "numpy", "scipy", "yaml"}
    assert not heavy & set(run.stdout.split())


def test_places_are_tried_in_the_order_cache_mirrors_origins(server, settings, tmp_path):
    folder = mirror(tmp_path / "mirror", GOOD)
    server.answers = {"/m/toy/sub/a%20file.bin": [GOOD], "/first": [GOOD], "/second": [GOOD]}
    settings = settings.replace(mirrors=(f"{tmp_path}/lacking", str(folder), f"{server.url}/m/"))
    file = from_origins(Url(f"{server.url}/first"), Url(f"{server.url}/second"))

    dest = fetch.get(file, settings)
    assert dest == settings.data / "raw" / NAME
    assert dest.read_bytes() == GOOD
    assert server.asked == []  # the folder came before the network

    (folder / NAME).unlink()
    fetch.get(file, settings)
    assert server.asked == []  # from the cache

    dest.unlink()
    fetch.get(file, settings)
    assert server.asked == ["/m/toy/sub/a%20file.bin"]

    dest.unlink()
    server.asked.clear()
    fetch.get(file, settings.replace(mirrors=()))
    assert server.asked == ["/first"]

    dest.unlink()
    server.answers["/first"] = [BAD]
    server.asked.clear()
    assert fetch.get(file, settings.replace(mirrors=())).read_bytes() == GOOD
    assert server.asked == ["/first", "/first", "/second"]
    assert stored(settings) == [NAME]


def test_a_mirror_may_be_in_the_home_folder(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    mirror(tmp_path / "mirror", GOOD)
    got = fetch.get(FILE, settings.replace(mirrors=("~nobody-here/mirror", "~/mirror")))
    assert got.read_bytes() == GOOD


def test_a_member_of_a_wheel_is_obtained_with_the_users_pip(settings, tmp_path, monkeypatch):
    make_wheel(tmp_path / "links", {"toy_data/a.bin": GOOD, "toy_data/b.bin": BAD})
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    file = from_origins(Wheel("toy-data", "1.0", "toy_data/a.bin"))
    assert fetch.get(file, settings).read_bytes() == GOOD
    assert stored(settings) == [NAME]  # not the wheel


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Two files of one wheel, and the list of wheels that pip was asked for."""
    make_wheel(tmp_path / "links", {"a": GOOD, "b": GOOD})
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    asked: list[list[str]] = []
    run = subprocess.run

    def count(command: list[str], **options):
        asked.append(command)
        return run(command, **options)

    monkeypatch.setattr(fetch.subprocess, "run", count)
    a = from_origins(Wheel("toy-data", "1.0", "a"))
    b = dataclasses.replace(from_origins(Wheel("toy-data", "1.0", "b")), name="toy/b")
    return a, b, asked


def test_two_files_of_one_wheel_need_one_download(settings, two):
    a, b, asked = two
    assert fetch.get(a, settings).read_bytes() == GOOD
    assert fetch.get(b, settings).read_bytes() == GOOD
    assert len(asked) == 1
    other = dataclasses.replace(b, name="toy/c", origins=(Wheel("toy-data", "1.1", "b"),))
    with pytest.raises(Unavailable, match="No matching distribution"):
        fetch.get(other, settings)  # of another version


def get_and_see_the_wheel(file: File, settings: Settings, temporary: Path) -> None:
    fetch.get(file, settings)
    assert len(list(temporary.rglob("*.whl"))) == 1


@pytest.mark.slow
def test_wheels_are_removed_when_the_process_ends(settings, tmp_path, two):
    temporary = tmp_path / "temporary"
    process = SPAWN.Process(target=get_and_see_the_wheel, args=(two[0], settings, temporary))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_missing_member_or_version_of_a_wheel_is_reported(settings, tmp_path, monkeypatch):
    make_wheel(tmp_path / "links", {"toy_data/b.bin": BAD})
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    file = from_origins(Wheel("toy-data", "1.0", "gone.bin"), Wheel("toy-data", "9.9", "b.bin"))
    with pytest.raises(Unavailable) as caught:
        fetch.get(file, settings)
    assert "package index: toy-data 1.0: not a readable wheel" in str(caught.value)
    assert "no item named 'gone.bin'" in str(caught.value)
    assert "package index: toy-data 9.9: No matching distribution" in str(caught.value)
    assert stored(settings) == []


@pytest.mark.slow
def test_a_damaged_wheel_is_reported(settings, tmp_path, monkeypatch):
    path = make_wheel(tmp_path / "links", {"toy_data/a.bin": GOOD})
    path.write_bytes(path.read_bytes().replace(b"good data", b"evil data", 1))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    with pytest.raises(Unavailable, match=r"not a readable wheel \(Bad CRC"):
        fetch.get(from_origins(Wheel("toy-data", "1.0", "toy_data/a.bin")), settings)
    assert stored(settings) == []


def test_source_distributions_are_never_used_as_they_would_run_code(
    settings, tmp_path, monkeypatch
):
    (tmp_path / "links").mkdir()
    with tarfile.open(tmp_path / "links" / "toy_data-1.0.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("toy_data-1.0/setup.py")
        archive.addfile(info)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    with pytest.raises(Unavailable, match="No matching distribution found for toy-data"):
        fetch.get(from_origins(Wheel("toy-data", "1.0", "a")), settings)


def test_a_missing_pip_is_reported(settings, tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(Unavailable, match="No module named pip"):
        fetch.get(from_origins(Wheel("toy-data", "1.0", "a")), settings)


def test_messages_contain_neither_the_index_nor_its_password(server, settings, monkeypatch):
    server.answers["/simple/toy-data/"] = [b'<a href="/gone/toy_data-1.0-py3-none-any.whl">x</a>']
    monkeypatch.delenv("PIP_NO_INDEX")
    url = server.url.replace("//", "//user:secret@")
    monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
    with pytest.raises(Unavailable) as caught:
        fetch.get(from_origins(Wheel("toy-data", "1.0", "a")), settings.replace(mirrors=(url,)))
    assert "/gone/toy_data-1.0-py3-none-any.whl" in server.asked
    message = str(caught.value)
    assert "package index: toy-data 1.0: " in message
    assert "404" in message.split("package index")[1]
    assert "127.0.0.1" not in message.split("package index")[1]
    assert "secret" not in message


@pytest.mark.slow
def test_an_unreachable_index_is_reported(settings, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(Unavailable, match="no connection to the package index"):
        fetch.get(from_origins(Wheel("toy-data", "1.0", "a")), settings)


def test_offline_only_folders_are_used(server, settings, tmp_path):
    server.answers["/a"] = [GOOD]
    file = from_origins(Url(f"{server.url}/a"), Wheel("toy-data", "1.0", "a"))
    settings = settings.replace(offline=True, mirrors=(server.url, str(tmp_path / "lacking")))
    with pytest.raises(Unavailable, match="offline: the network was not tried") as caught:
        fetch.get(file, settings)
    assert server.asked == []
    assert "package index" not in str(caught.value)
    mirror(tmp_path / "lacking", GOOD)
    assert fetch.get(file, settings).read_bytes() == GOOD


def test_the_source_is_the_first_place_and_nothing_changes(server, settings, tmp_path):
    wheel, url = Wheel("toy-data", "1.0", "a"), Url(f"{server.url}/a")
    dest = settings.data / "raw" / NAME
    assert fetch.source(from_origins(wheel, url), settings) == "package index: toy-data 1.0"
    assert fetch.source(from_origins(url, wheel), settings) == url.url
    assert fetch.source(from_origins(url), settings.replace(offline=True)) is None
    folder = mirror(tmp_path / "mirror", GOOD)
    mirrors = (str(tmp_path / "lacking"), str(folder), server.url)
    mirrored = fetch.source(from_origins(url), settings.replace(mirrors=mirrors))
    assert mirrored == str(folder / NAME)
    hidden = settings.replace(mirrors=("https://user:secret@example.org/m",))
    assert fetch.source(FILE, hidden) == "https://example.org/m/toy/sub/a%20file.bin"
    assert not settings.data.exists()
    assert server.asked == []
    fetch.get(FILE, settings.replace(mirrors=mirrors))
    assert fetch.source(from_origins(url), settings) == "cache"
    dest.write_bytes(BAD)
    assert fetch.source(from_origins(url), settings) == url.url
    assert dest.read_bytes() == BAD


# Wrong and broken copies


def test_a_tree_digest_accepts_another_packing(settings, tmp_path):
    tree = digest(pack_zip(tmp_path / "original.zip", FILES), "tree")
    content = pack_tar(tmp_path / "a.tar.gz", FILES, "w:gz").read_bytes()
    file = File(NAME, 1, tree, (), "toy licence")
    got = fetch.get(file, settings.replace(mirrors=(str(mirror(tmp_path / "m", content)),)))
    assert got.read_bytes() == content
    (tmp_path / "m" / NAME).write_bytes(BAD)
    got.unlink()
    with pytest.raises(Unavailable, match="no readable archive"):
        fetch.get(file, settings.replace(mirrors=(str(tmp_path / "m"),)))


def test_the_matching_files_of_a_larger_archive_are_extracted(server, settings, tmp_path):
    tree = digest(pack_zip(tmp_path / "original.zip", FILES), "tree")
    larger = {f"at-1a2b/{name}": content for name, content in {**FILES, "c/no": b"no"}.items()}
    place = Members(f"{server.url}/all.tar.gz", r"[^/]+/(a[.]txt|b/.+)")
    file = File(NAME, 1, tree, (place,), "toy licence")
    whole = pack_tar(tmp_path / "all.tar.gz", larger, "w:gz", prefix="./").read_bytes()
    server.answers = {"/all.tar.gz": [whole[:-9], whole]}
    assert dict(members(fetch.get(file, settings))) == FILES
    assert len(server.asked) == 2  # the first was cut off
    assert fetch.source(file, settings.replace(data=tmp_path / "none")) == place.url
    assert stored(settings) == [NAME]

    lacking = pack_tar(tmp_path / "lacking.tar", {"at/a.txt": b"one"}).read_bytes()
    server.answers = {"/all.tar.gz": [lacking]}
    with pytest.raises(Unavailable, match=r"all.tar.gz: got tree:"):
        fetch.get(file, settings.replace(data=tmp_path / "other"))
    server.answers = {"/all.tar.gz": [b"no archive"]}
    with pytest.raises(Unavailable, match=r"all.tar.gz: no readable archive"):
        fetch.get(file, settings.replace(data=tmp_path / "other"))


def test_a_corrupted_cache_is_replaced(settings, tmp_path):
    settings = settings.replace(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    dest = fetch.get(FILE, settings)
    dest.write_bytes(BAD)
    assert fetch.get(FILE, settings).read_bytes() == GOOD
    dest.write_bytes(BAD)
    (tmp_path / "mirror" / NAME).unlink()
    with pytest.raises(Unavailable, match=f"cache: got {sha256(BAD)}"):
        fetch.get(FILE, settings)
    assert stored(settings) == []  # removed


def test_a_corrupted_mirror_is_skipped(settings, tmp_path, monkeypatch):
    bad, good = mirror(tmp_path / "bad", BAD), mirror(tmp_path / "good", GOOD)
    opened: list[Path] = []
    open_regular = fetch.open_regular
    monkeypatch.setattr(
        fetch, "open_regular", lambda path: (opened.append(path), open_regular(path))[1]
    )
    got = fetch.get(FILE, settings.replace(mirrors=(str(bad), str(good))))
    assert got.read_bytes() == GOOD
    assert (bad / NAME).read_bytes() == BAD  # never changed
    assert opened == [bad / NAME, good / NAME]  # not tried again


def cut_short(handler: Handler) -> None:
    handler.start(len(GOOD))
    handler.wfile.write(GOOD[:5000])
    handler.close_connection = True


@pytest.mark.parametrize("first", [cut_short, GOOD[:5000]], ids=["cut short", "ends early"])
def test_a_bad_transfer_is_retried_once(server, settings, first):
    server.answers["/a"] = [first, GOOD]
    assert fetch.get(from_origins(Url(f"{server.url}/a")), settings).read_bytes() == GOOD
    assert server.asked == ["/a", "/a"]
    assert stored(settings) == [NAME]


def test_a_compressed_file_is_not_unpacked_in_transfer(server, settings):
    def answer(handler: Handler) -> None:
        assert "gzip" not in handler.headers.get("Accept-Encoding", "")
        handler.start(len(GOOD))
        handler.wfile.write(GOOD)

    server.answers["/a"] = [answer]
    assert fetch.get(from_origins(Url(f"{server.url}/a")), settings).read_bytes() == GOOD


def test_if_all_places_fail_the_error_lists_expected_and_actual_digests(server, settings, tmp_path):
    server.answers = {"/bad": [BAD], "/cut": [cut_short]}
    dead = "http://127.0.0.1:9/dead"
    paths = [f"{server.url}/{name}" for name in ("bad", "cut", "gone")]
    bad = mirror(tmp_path / "bad", BAD)
    settings = settings.replace(mirrors=(str(tmp_path / "lacking"), str(bad)))
    with pytest.raises(Unavailable) as caught:
        fetch.get(from_origins(*map(Url, paths), Url(dead)), settings)
    message = str(caught.value)
    assert "\n" not in message
    got = f"got {sha256(BAD)} ({len(BAD)} bytes)"
    for part in (
        f"could not obtain {NAME}; expected {FILE.digest} ({len(GOOD)} bytes); ",
        f"{tmp_path / 'lacking' / NAME}: No such file or directory; ",
        f"{bad / NAME}: {got}; ",
        f"{paths[0]}: {got}; ",
        f"{paths[1]}: no answer, or the transfer broke off (ChunkedEncodingError); ",
        f"{paths[2]}: HTTP status 404; ",
        f"{dead}: no answer, or the transfer broke off (ConnectionError). ",
        f"Put the file at {settings.data / 'raw' / NAME} or list a mirror",
        "TRANSFERBENCH_MIRROR",
    ):
        assert part in message
    assert server.asked == ["/bad", "/bad", "/cut", "/cut", "/gone", "/gone"]
    assert stored(settings) == []


# Disks


@pytest.mark.parametrize("place", ["folder", "url", "wheel"])
def test_a_full_disk_is_a_users_error_and_leaves_nothing(
    server, settings, tmp_path, monkeypatch, place
):
    server.answers["/a"] = [GOOD]
    origins = {"url": [Url(f"{server.url}/a")], "wheel": [Wheel("toy-data", "1.0", "a")]}
    if place == "folder":
        settings = settings.replace(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    packed = make_wheel(tmp_path / "links", {"a": GOOD}, zipfile.ZIP_DEFLATED)
    assert packed.stat().st_size < 5000 < len(GOOD)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    file = from_origins(*origins.get(place, []))
    with full_disk(5000), pytest.raises(UserError) as caught:
        fetch.get(file, settings)
    assert not isinstance(caught.value, Unavailable)
    message = str(caught.value)
    assert message.startswith(f"{settings.data / 'raw' / NAME}: cannot store {NAME} (")
    assert "--data" in message
    assert "TRANSFERBENCH_DATA" in message
    assert "\n" not in message
    left = [p.name for p in (settings.data / "raw").rglob("*") if p.suffix != ".lock"]
    assert left == ["toy", "sub"]


def test_the_final_path_never_has_an_unfinished_file(settings, tmp_path, monkeypatch):
    settings = settings.replace(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))

    def fail(source: Path, target: Path) -> None:
        assert source.read_bytes() == GOOD  # complete and verified before it is renamed
        assert not target.exists()
        raise PermissionError(13, "Permission denied", str(source), None, str(target))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(UserError, match="Permission denied"):
        fetch.get(FILE, settings)
    assert stored(settings) == []


def test_a_folder_that_cannot_be_written_is_a_users_error(settings, tmp_path):
    settings = settings.replace(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    settings.data.write_text("a file where a folder should be")
    with pytest.raises(UserError, match="TRANSFERBENCH_DATA") as caught:
        fetch.get(FILE, settings)
    assert str(settings.data) in str(caught.value)
    assert not isinstance(caught.value, Unavailable)


# Processes


def get_after(barrier, file: File, settings: Settings) -> None:
    barrier.wait(60)
    fetch.get(file, settings)


def test_two_processes_need_one_download(server, settings):
    def slow(handler: Handler) -> None:
        time.sleep(0.7)  # without a lock, the other process would ask meanwhile
        handler.start(len(GOOD))
        handler.wfile.write(GOOD)

    server.answers["/a"] = [slow]
    barrier = SPAWN.Barrier(2)
    job = (barrier, from_origins(Url(f"{server.url}/a")), settings)
    processes = [SPAWN.Process(target=get_after, args=job) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert server.asked == ["/a"]
    assert (settings.data / "raw" / NAME).read_bytes() == GOOD
    assert stored(settings) == [NAME]


def test_a_fetch_succeeds_after_one_was_killed(server, settings):
    killed = threading.Event()

    def stall(handler: Handler) -> None:
        handler.start(len(GOOD) * 100)
        handler.wfile.write(GOOD * 50)
        handler.wfile.flush()
        killed.wait(60)

    content = GOOD * 100
    server.answers["/a"] = [stall, content]
    file = dataclasses.replace(
        from_origins(Url(f"{server.url}/a")), digest=sha256(content), size=len(content)
    )
    process = SPAWN.Process(target=fetch.get, args=(file, settings))
    process.start()
    deadline = time.monotonic() + 60
    while not any(p.stat().st_size for p in settings.data.rglob("*.part")):
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.join(60)
    killed.set()
    assert NAME not in stored(settings)  # the final path never has a partial file
    assert stored(settings) != []  # it was midway
    assert fetch.get(file, settings).read_bytes() == content
    assert stored(settings) == [NAME]


# The notice


def test_the_licence_is_shown_once_per_dataset(settings, tmp_path, capsys):
    folder = mirror(tmp_path / "mirror", GOOD)
    (folder / "toy" / "second").write_bytes(GOOD)
    (folder / "other").mkdir()
    (folder / "other" / "a").write_bytes(GOOD)
    settings = settings.replace(mirrors=(str(folder),))
    fetch.get(FILE, settings)
    fetch.get(FILE, settings)
    fetch.get(dataclasses.replace(FILE, name="toy/second"), settings)
    assert capsys.readouterr() == ("", "toy: toy licence\n")
    fetch.get(dataclasses.replace(FILE, name="other/a"), settings)
    assert capsys.readouterr() == ("", "other: toy licence\n")
    private = dataclasses.replace(FILE, licence="see https://me:pw@host/\x1b[2J")
    fetch.get(private, settings.replace(data=tmp_path / "elsewhere"))
    assert capsys.readouterr() == ("", "toy: see https://host/\\u001b[2J\n")


def test_the_licence_is_not_shown_for_cached_or_unavailable_files(settings, capsys):
    with pytest.raises(Unavailable):
        fetch.get(FILE, settings)
    dest = settings.data / "raw" / NAME
    dest.write_bytes(GOOD)
    fetch.get(FILE, settings)
    assert capsys.readouterr() == ("", "")


# Too much


@pytest.mark.parametrize("stated", [False, True])
def test_a_server_that_sends_too_much_is_cut_off(server, settings, stated):
    """If it states a length, before a byte is read."""
    sent = []

    def endless(handler: Handler) -> None:
        if stated:
            handler.start(1 << 40)
        else:
            handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
        with contextlib.suppress(OSError):
            while sum(sent) < 1 << 28:
                sent.append(handler.wfile.write(b"x" * (1 << 16)))

    server.answers["/a"] = [endless]
    message = f"/a: stopped after the expected {len(GOOD)} bytes: there are more"
    if stated:
        message = f"/a: states {1 << 40} bytes, expected at most {len(GOOD)}"
    with pytest.raises(Unavailable, match=message):
        fetch.get(from_origins(Url(f"{server.url}/a")), settings)
    assert sum(sent) < 1 << 26  # buffers of the connection
    assert stored(settings) == []


@pytest.mark.parametrize("digest", [FILE.digest, "tree:0"])
def test_a_file_of_unknown_size_has_a_limit_too(tmp_path, settings, monkeypatch, digest):
    monkeypatch.setattr(fetch, "MAX_SIZE", 100)
    size = len(GOOD) if digest.startswith("tree") else None
    file = dataclasses.replace(FILE, size=size, digest=digest)
    settings = settings.replace(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    with pytest.raises(Unavailable, match="stopped after the expected 100 bytes"):
        fetch.get(file, settings)
    assert stored(settings) == []


def test_an_answer_without_a_valid_length_is_refused(server, settings):
    def odd(handler: Handler) -> None:
        handler.start("many")
        handler.wfile.write(GOOD)

    server.answers["/a"] = [odd]
    with pytest.raises(Unavailable, match="/a: no valid HTTP answer"):
        fetch.get(from_origins(Url(f"{server.url}/a")), settings)
    assert stored(settings) == []


@pytest.mark.skipif(os.name != "posix", reason="no FIFO or /dev")
@pytest.mark.parametrize("kind", ["fifo", "device", "large", "folder"])
def test_a_mirror_has_regular_files_of_the_right_size_only(tmp_path, settings, kind):
    path = tmp_path / "mirror" / NAME
    path.parent.mkdir(parents=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(GOOD + b"x")
    expected = {"large": "there are more", "folder": "is a folder"}.get(kind, "no regular file")
    with pytest.raises(Unavailable, match=f"{NAME}: .*{expected}"):
        fetch.get(FILE, settings.replace(mirrors=(str(tmp_path / "mirror"),)))
    assert stored(settings) == []


@pytest.mark.parametrize("part", ["body", "headers"])
def test_a_server_that_never_ends_its_answer_is_left(server, settings, monkeypatch, part):
    monkeypatch.setattr(fetch, "PATIENCE", 0.5)
    stop = threading.Event()

    def drip(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\n" + (b"\r\n" if part == "body" else b"X: "))
        while not stop.wait(0.05):
            handler.wfile.write(b"a")

    server.answers["/a"] = [drip]
    file = fetch.File("d/a", 10**6, f"sha256:{'0' * 64}", (fetch.Url(f"{server.url}/a"),), "none")
    began = time.monotonic()
    with pytest.raises(Unavailable, match="too slow, 0 bytes in"):
        fetch.get(file, settings)
    stop.set()
    assert time.monotonic() - began < 10
    assert [path.name for path in (settings.data / "raw" / "d").iterdir()] == ["a.lock"]
