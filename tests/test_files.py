"""Files are written whole or not at all, and nothing is left of a writer that was killed."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from transferbench.errors import UserError
from transferbench.files import alone, write_text, writing

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


def test_what_a_killed_writer_left_goes_with_the_next_write(tmp_path):
    path = tmp_path / "a[1].json"  # a name that is a pattern, too
    write_text(path, "before")
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert len(names(tmp_path)) == 2
    (tmp_path / ".a[1].json.swp").write_text("an editor's")
    assert path.read_text() == "before"
    write_text(path, "after")
    assert names(tmp_path) == [".a[1].json.swp", "a[1].json"]
    assert path.read_text() == "after"


def test_a_writer_at_work_is_left_alone(tmp_path):
    path = tmp_path / "a"
    with writing(path) as first:
        first.write_text("slow")
        write_text(path, "quick")
        assert first.read_text() == "slow"
    assert path.read_text() == "slow"
    assert names(tmp_path) == ["a"]


def test_one_at_a_time_and_the_other_hears_that_it_waits(tmp_path):
    lock, said, order = tmp_path / "sub" / "lock", threading.Event(), []

    def second():
        with alone(lock, said.set):
            order.append("second")

    thread = threading.Thread(target=second)
    with alone(lock, lambda: pytest.fail("nobody else is there")):
        thread.start()
        assert said.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_a_lock_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with (
        pytest.raises(UserError, match="cannot write"),
        alone(tmp_path / "file" / "lock", print),
    ):
        pass
