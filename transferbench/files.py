"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transferbench.errors import UserError


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well, removed otherwise.

    Raises UserError where the folder cannot be written or the disk is full; `path` is then as it
    was before.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        # What is written is for all who may read the folder, as with any other file.
        temporary.chmod(0o666 & ~_umask())
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot write {path}: {reason}; free space there, or choose other folders with "
            "--data and --results."
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """UTF-8 text, whole or not at all. Raises UserError as `writing` does."""
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
