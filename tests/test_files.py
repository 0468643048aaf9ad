"""Files are written atomically, and only regular files are read and replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from transferbench.errors import UserError
from transferbench.files import TEMPORARY, exclusive, open_regular, write_text, writing

KILLED = """
import os, sys
from pathlib import Path
from transferbench.files import writing
with writing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half of it")
    os.kill(os.getpid(), 9)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_killed_writer_changes_nothing_and_leaves_what_clean_removes(tmp_path):
    path = tmp_path / "a.json"
    write_text(path, "before")
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert path.read_text() == "before"
    assert len(list(tmp_path.glob(TEMPORARY))) == len(names(tmp_path)) - 1 == 1


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("o" * 251 + ".csv")
    write_text(path, "whole")
    assert names(tmp_path) == [path.name]


def test_writers_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "a"
    with writing(path) as first:
        first.write_text("slow")
        write_text(path, "quick")
        assert first.read_text() == "slow"
    assert path.read_text() == "slow"
    assert names(tmp_path) == ["a"]


def test_only_one_process_enters_and_the_other_waits(tmp_path):
    lock, waits, order = tmp_path / "sub" / "lock", threading.Event(), []

    def second():
        with exclusive(lock, waits.set):
            order.append("second")

    thread = threading.Thread(target=second)
    with exclusive(lock, lambda: pytest.fail("no other process is there")):
        thread.start()
        assert waits.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


posix = pytest.mark.skipif(os.name != "posix", reason="permissions, links and FIFOs of POSIX")


@posix
def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "private.csv"
    for mode in (0o600, 0o666):
        path.write_text("before")
        path.chmod(mode)
        with writing(path) as temporary:
            assert stat.S_IMODE(temporary.stat().st_mode) == mode
            temporary.write_text("after")
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("after", mode)
    (tmp_path / "usual").touch()
    write_text(tmp_path / "new", "")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_read_only_file_is_not_replaced(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("before")
    path.chmod(0o444)
    with pytest.raises(
        UserError, match=r"cannot write .*labels\.csv: the file is read-only; choose"
    ):
        write_text(path, "after")
    assert (path.read_text(), names(tmp_path)) == ("before", ["labels.csv"])


@posix
def test_a_link_is_kept_and_its_file_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link", tmp_path / "there" / "file"
    link.symlink_to(target)
    for text in ("new", "newer"):  # at first the link leads nowhere
        write_text(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert names(tmp_path / "there") == ["file"]


@posix
@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_regular_file_is_not_replaced(tmp_path, kind):
    path = tmp_path / "it"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    files = names(tmp_path)
    before = path.lstat()
    with pytest.raises(UserError, match=r"cannot write .*it: ") as error:
        write_text(path, "text")
    assert "\n" not in str(error.value)
    assert path.lstat().st_ino == before.st_ino
    assert names(tmp_path) == files


@posix
def test_only_regular_files_are_opened(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    with open_regular(tmp_path / "file") as file:
        assert file.read() == b"content"
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError, match=r"no regular file|is a folder"):
            open_regular(path)


@posix
@pytest.mark.parametrize("kind", ["file", "nothing", "folder", "itself", "read-only file"])
def test_a_link_that_the_user_did_not_name_is_replaced(tmp_path, kind):
    link, target = tmp_path / "link", tmp_path / "there"
    if kind == "folder":
        target.mkdir()
    elif kind not in ("nothing", "itself"):
        target.write_text("precious")
        target.chmod(0o400 if kind.startswith("read-only") else 0o644)
    link.symlink_to(link if kind == "itself" else target)
    before = target.stat() if target.exists() else None
    with writing(link, follow=False) as temporary:
        temporary.write_text("new")
    assert (link.read_text(), link.is_symlink()) == ("new", False)
    assert (target.stat() if target.exists() else None) == before
    (tmp_path / "usual").touch()
    assert link.stat().st_mode == (tmp_path / "usual").stat().st_mode


@posix
def test_a_linked_folder_is_followed_and_a_hard_link_is_not_written_through(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "built").symlink_to(tmp_path / "disk")
    (tmp_path / "precious").write_text("before")
    (tmp_path / "disk" / "file").hardlink_to(tmp_path / "precious")
    with writing(tmp_path / "built" / "file", follow=False) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "disk" / "file").read_text() == "new"
    assert (tmp_path / "precious").read_text() == "before"


@posix
@pytest.mark.parametrize("content", ["precious", None])
def test_a_lock_that_is_a_link_is_replaced(tmp_path, content):
    victim, lock = tmp_path / "victim", tmp_path / "lock"
    if content:
        victim.write_text(content)
    lock.symlink_to(victim)
    with exclusive(lock, lambda: pytest.fail("no other process is there")):
        assert not lock.is_symlink()
    assert (victim.read_text() if victim.exists() else None) == content
