"""Files are written atomically, and temporary files of killed writers are removed."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from transferbench.errors import UserError
from transferbench.files import exclusive, write_text, writing

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


def test_the_next_write_removes_the_file_of_a_killed_writer(tmp_path):
    path = tmp_path / "a[1].json"  # a name that is a pattern, too
    write_text(path, "before")
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert len(names(tmp_path)) == 2
    (tmp_path / ".a[1].json.swp").write_text("an editor's")
    assert path.read_text() == "before"
    write_text(path, "after")
    assert names(tmp_path) == [".a[1].json.swp", "a[1].json"]
    assert path.read_text() == "after"


def test_the_file_of_a_live_writer_is_kept(tmp_path):
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


def test_a_lock_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with (
        pytest.raises(UserError, match="cannot write"),
        exclusive(tmp_path / "file" / "lock", print),
    ):
        pass
