"""Settings: folders, mirrors and network, from defaults, the environment and options.

Later sources override earlier ones: built-in defaults; the environment variables
TRANSFERBENCH_DATA, TRANSFERBENCH_RESULTS, TRANSFERBENCH_MIRROR, TRANSFERBENCH_OFFLINE,
TRANSFERBENCH_WITHOUT_TERMS, TRANSFERBENCH_MAX_SIZE and TRANSFERBENCH_MAX_ARTEFACTS; the command
line. White space separates mirrors and terms in the environment; name a path with a space by
--mirror.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Self

from annotated_types import Ge, Gt, Lt

from transferbench import terms
from transferbench.files import user_path
from transferbench.parameters import convert

PACKAGE = Path(__file__).parent
MAX_GIB = 2**20


@dataclass(frozen=True)
class Settings:
    """Settings of one command."""

    #: Folder of downloaded and built data.
    data: Path
    #: Folder of records and tables; by default `results` in the current folder or, inside a
    #: checkout of this package, at its top.
    results: Path
    #: Folders or URLs of original files, tried in order.
    mirrors: tuple[str, ...] = ()
    #: If true, use no network.
    offline: bool = False
    #: Use no data under these terms, see `terms.TERMS`.
    without_terms: tuple[str, ...] = ()
    #: Largest size of a user's file in GiB.
    max_size: Annotated[float, Gt(0), Lt(MAX_GIB)] = 1.0
    #: Largest size of all artefacts in GiB, see `artefacts`; 0 stores none.
    max_artefacts: Annotated[float, Ge(0), Lt(MAX_GIB)] = 4.0

    def __post_init__(self) -> None:
        terms.check(self.without_terms, "--without-terms or TRANSFERBENCH_WITHOUT_TERMS")

    @property
    def max_bytes(self) -> int:
        """Largest size of a user's file in bytes."""
        return int(self.max_size * 2**30)

    @property
    def committed(self) -> Path:
        """The folder of committed results; a wheel has only those of the suites."""
        root = checkout()
        return root / "results" if root else experiments_dir()

    def with_runs(self, experiment: str) -> Path:
        """Return the folder with results of an experiment: the user's, or the committed one."""
        folders = (self.results, self.committed)
        return next((folder for folder in folders if (folder / experiment).is_dir()), self.results)

    def replace(self, **changes: object) -> Self:
        """Return a copy with changed settings; None leaves a setting unchanged."""
        return replace(self, **{k: v for k, v in changes.items() if v is not None})  # type: ignore[arg-type]


#: Type of each setting, which its variable is converted to.
TYPES: dict[str, Any] = {f.name: str if f.type is Path else f.type for f in fields(Settings)}


def checkout() -> Path | None:
    """Return the source tree of this package, or None if it was installed as a wheel."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "experiments").is_dir() else None


def experiments_dir() -> Path:
    """Return the folder of experiment files: in the wheel, or at the top of the source tree."""
    inside = PACKAGE / "experiment_files"
    return inside if inside.is_dir() else PACKAGE.parent / "experiments"


def _cache() -> Path:
    """Return the user's cache folder; in the current folder if the user has no home."""
    import platformdirs

    try:
        return platformdirs.user_cache_path("transferbench", appauthor=False)
    except RuntimeError:
        return Path.cwd() / ".transferbench" / "cache"


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings from defaults and the environment."""
    root, folder = checkout(), Path.cwd()
    # Work inside the checkout uses the committed results; other work uses the current folder.
    inside = root is not None and folder.is_relative_to(root.resolve())
    results = (root if root and inside else folder) / "results"
    defaults = Settings(data=root / "data" if root else _cache(), results=results)
    changes: dict[str, object] = {}
    for name in TYPES:
        variable = f"TRANSFERBENCH_{'MIRROR' if name == 'mirrors' else name.upper()}"
        if text := environment.get(variable):
            is_list = TYPES[name] == tuple[str, ...]
            value = convert(text.split() if is_list else text, TYPES[name], variable)
            changes[name] = user_path(value) if TYPES[name] is str else value
    return defaults.replace(**changes)
