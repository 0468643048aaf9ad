"""full_disk: it leaves no cut bytecode, which would end every later command."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from full_disk import full_disk


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_an_import_on_a_full_disk_leaves_no_bytecode(tmp_path, monkeypatch):
    for name in ("here", "below", "later"):
        (tmp_path / f"{name}.py").write_text(f"LONG = {'x' * 10_000!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with full_disk(5000):
        with pytest.raises(OSError, match="File too large"):
            (tmp_path / "data").write_bytes(bytes(5001))
        importlib.import_module("here")
        subprocess.run([sys.executable, "-c", "import below"], check=True)
    assert list(tmp_path.rglob("*.pyc")) == []
    subprocess.run([sys.executable, "-c", "import later"], check=True)
    assert [path.stat().st_size > 10_000 for path in tmp_path.rglob("*.pyc")] == [True]
