"""The smallest limit of machine, affinity, control groups and batch system is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from transferbench.runs import machine
from transferbench.runs.machine import cores, total_memory

MIB = 2**20


@pytest.fixture
def system(tmp_path):
    """Function that writes the files of a system; returns its root."""

    def write(groups: str | None, files: dict[str, object]) -> Path:
        if groups is not None:
            (tmp_path / "proc/self").mkdir(parents=True)
            (tmp_path / "proc/self/cgroup").write_text(groups)
        for name, content in files.items():
            file = tmp_path / "sys/fs/cgroup" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{content}\n")
        return tmp_path

    return write


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
        (None, {"memory.max": 80 * MIB}, 80),
    ],
)
def test_memory_limits_of_control_groups(system, groups, files, expected):
    root = system(groups, files)
    of_machine = total_memory(root / "nothing")
    assert total_memory(root) == (of_machine if expected is None else expected * MIB)


@pytest.mark.parametrize(
    ("groups", "files", "environment", "expected"),
    [
        ("0::/\n", {}, {}, 64),
        ("0::/\n", {"cpu.max": "200000 100000"}, {}, 2),
        ("0::/\n", {"cpu.max": "max 100000"}, {}, 64),
        ("0::/\n", {"cpu.max": "50000 100000"}, {}, 1),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, {}, 2),
        ("3:cpu,cpuacct:/x\n", {"cpu,cpuacct/x/cpu.cfs_quota_us": 300_000,
                                "cpu,cpuacct/x/cpu.cfs_period_us": 100_000}, {}, 3),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": -1, "cpu/cpu.cfs_period_us": 100_000}, {}, 64),
        (None, {"cpu.max": "500000 100000"}, {}, 5),
        ("0::/\n", {}, {"SLURM_CPUS_PER_TASK": "4", "SLURM_CPUS_ON_NODE": "8"}, 4),
        ("0::/\n", {}, {"SLURM_CPUS_ON_NODE": "8"}, 8),
        ("0::/\n", {}, {"NCPUS": "3"}, 3),
        ("0::/\n", {}, {"NSLOTS": "6"}, 6),
        ("0::/\n", {}, {"LSB_DJOB_NUMPROC": "5"}, 5),
        ("0::/\n", {"cpu.max": "200000 100000"}, {"NSLOTS": "6"}, 2),
        ("0::/\n", {}, {"NSLOTS": "0", "NCPUS": "-2", "SLURM_CPUS_ON_NODE": "4(x2)"}, 64),
        ("0::/\n", {}, {"NSLOTS": "100000"}, 64),
    ],
)  # fmt: skip
def test_cores_of_a_job(system, monkeypatch, groups, files, environment, expected):
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 64)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda pid: range(64), raising=False)
    assert cores(system(groups, files), environment) == expected


def test_an_affinity_limits_the_cores(system, monkeypatch):
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 64)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda pid: {7}, raising=False)
    assert cores(system(None, {}), {}) == 1


def test_the_makefile_finds_the_cores_before_anything_is_installed():
    """It runs the file with the standard library alone."""
    words = [sys.executable, "-I", "-S", machine.__file__]
    done = subprocess.run(words, env=os.environ | {"NSLOTS": "1"}, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")
