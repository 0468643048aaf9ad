"""The machine: cores and memory that this process may use, and whether a process exists.

A job on a shared machine gets a part of it: by affinity, by control groups, or by a number in a
variable of the batch system. The Makefile runs this file before any library is installed, so it
imports the standard library alone; it prints the number of cores.
"""

import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

#: Variables in which batch systems give the cores of a job: Slurm (of a task, of the job here), PBS
#: and Torque, SGE, LSF. The last is of joblib, by which users lower the number.
CORE_VARIABLES = (
    *("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "NCPUS", "PBS_NUM_PPN"),
    *("NSLOTS", "LSB_DJOB_NUMPROC", "LOKY_MAX_CPU_COUNT"),
)
#: Files with the quota and the period of a control group: of version 2, and of version 1.
CORE_FILES = (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us"))


def process_exists(pid: int) -> bool:
    """Return True if there is such a process, ended and not waited for, too, or if not known."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def cores(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> int:
    """Return the number of cores that this process may use, at most those of the machine."""
    # It is the least of the number of cores in its affinity, of the quotas of its control groups
    # (rounded up) and of the numbers in CORE_VARIABLES.
    limits = [os.cpu_count() or 1]
    with suppress(AttributeError, OSError):  # only some systems have an affinity
        limits.append(len(os.sched_getaffinity(0)))
    for folder in _control_groups(root, "cpu", "cpu,cpuacct", "cpuacct,cpu"):
        for names in CORE_FILES:
            with suppress(OSError, ValueError):  # no such group, or "max"; -1 is no limit, too
                text = " ".join((folder / name).read_text() for name in names)
                quota, period = map(int, text.split())
                limits.append(math.ceil(quota / period))
    for name in CORE_VARIABLES:
        with suppress(KeyError, ValueError):
            limits.append(int(environment[name]))
    return min(limit for limit in limits if limit > 0)


def total_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may use: the machine's, or less in a container or job."""
    # None if the system does not report any.
    limits = []
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for folder in _control_groups(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):  # of version 2 and of version 1
            with suppress(OSError, ValueError):  # no such group, or "max": no limit
                limits.append(int((folder / name).read_text()))
    return min(limits, default=None)


def _control_groups(root: Path, *controllers: str) -> Iterator[Path]:
    """Yield folders of the control groups of this process and of their parents."""
    groups = "0::/"  # without /proc, that of the container may still be found
    with suppress(OSError):
        groups = (root / "proc/self/cgroup").read_text()
    for line in groups.splitlines():  # number:controllers:path of a control group
        group = Path(line.split(":", 2)[2].lstrip("/"))
        # In a container the path may be that of the host: then only its parents are found.
        for folder in (group, *group.parents):
            yield root / "sys/fs/cgroup" / folder
            for controller in controllers:
                yield root / "sys/fs/cgroup" / controller / folder


if __name__ == "__main__":
    print(cores())  # noqa: T201
