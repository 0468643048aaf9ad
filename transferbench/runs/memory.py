"""The memory that this process may use: the machine's, or less in a container or a job."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def total(root: Path = Path("/")) -> int | None:
    """Return the smallest of all limits in bytes; None if the system does not report any.

    root: folder with `proc` and `sys`.
    """
    return min([*_machine(), *_control_groups(root)], default=None)


def _machine() -> Iterator[int]:
    with suppress(AttributeError, ValueError, OSError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _control_groups(root: Path) -> Iterator[int]:
    """Yield the limits of this process's control groups (versions 1 and 2) and of their parents.

    In a container a group's path may be that of the host: then only its parents are found.
    """
    groups = ""
    with suppress(OSError):
        groups = (root / "proc/self/cgroup").read_text()
    for line in groups.splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if "memory" in controllers.split(","):
            mounts, file = ["memory"], "memory.limit_in_bytes"
        elif not controllers:
            mounts, file = ["", "unified"], "memory.max"
        else:
            continue
        group = Path(path.lstrip("/"))
        for mount in mounts:
            for folder in (group, *group.parents):
                with suppress(OSError, ValueError):  # no such group, or "max": no limit
                    yield int((root / "sys/fs/cgroup" / mount / folder / file).read_text())
