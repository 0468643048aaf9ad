"""The smallest limit of machine and control groups is found."""

from __future__ import annotations

import pytest

from transferbench.runs.pool import total_memory

MIB = 2**20


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/\n", {"memory.max": 512 * MIB}, 512),
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": 300 * MIB}, 300),
        ("0::/of/the/host\n", {"memory.max": 100 * MIB}, 100),
        ("5:cpu,memory:/x\n0::/\n", {"memory/x/memory.limit_in_bytes": 90 * MIB}, 90),
        ("5:memory:/x\n", {"memory/x/memory.limit_in_bytes": 2**63 - 4096}, None),
        ("0::/\n", {"memory.max": "junk"}, None),
        (None, {}, None),
    ],
)
def test_limits_of_control_groups(tmp_path, groups, files, expected):
    if groups is not None:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, content in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n")
    machine = total_memory(tmp_path / "nothing")
    assert total_memory(tmp_path) == (machine if expected is None else expected * MIB)
