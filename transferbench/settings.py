"""Settings: folders, mirrors and network, from defaults, a file, the environment and options.

Later ones win: built-in defaults, `config.yaml` in the user's configuration folder, the environment
variables TRANSFERBENCH_DATA, TRANSFERBENCH_RESULTS, TRANSFERBENCH_MIRROR, TRANSFERBENCH_OFFLINE,
TRANSFERBENCH_MAX_SIZE and TRANSFERBENCH_MAX_ARTEFACTS, then the command line. White space separates
mirrors in the environment; write a path with a space into the settings file or give it by --mirror.
"""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Self

from annotated_types import Ge, Gt, Lt

from transferbench.errors import unknown
from transferbench.files import user_path
from transferbench.parameters import convert

PACKAGE = Path(__file__).parent
MAX_GIB = 2**20


@dataclass(frozen=True)
class Settings:
    """Settings of one command.

    Parameters
    ----------
    data
        Folder of downloaded and built data.
    results
        Folder of records and tables; by default `results` in the current folder or, inside a
        checkout of this package, at its top.
    mirrors
        Folders or URLs of original files, tried in order.
    offline
        If true, use no network.
    max_size
        GiB of one of the user's own files; larger ones are refused.
    max_artefacts
        GiB of artefacts in the data folder, see `artefacts`; 0 stores none.
    """

    data: Path
    results: Path
    mirrors: tuple[str, ...] = ()
    offline: bool = False
    max_size: Annotated[float, Gt(0), Lt(MAX_GIB)] = 1.0
    max_artefacts: Annotated[float, Ge(0), Lt(MAX_GIB)] = 4.0

    @property
    def max_bytes(self) -> int:
        """The largest number of bytes of one of the user's own files."""
        return int(self.max_size * 2**30)

    @property
    def committed(self) -> Path:
        """The folder of committed results; a wheel has those of the suites alone."""
        root = checkout()
        return root / "results" if root else experiments_dir()

    def with_runs(self, experiment: str) -> Path:
        """Return the folder of results that has an experiment: this one, or else the committed."""
        known = (self.results, self.committed)
        return next((folder for folder in known if (folder / experiment).is_dir()), self.results)

    def replace(self, **changes: object) -> Self:
        """Return a copy with changed settings; None leaves a setting unchanged."""
        return replace(self, **{k: v for k, v in changes.items() if v is not None})  # type: ignore[arg-type]


#: Type of each setting in the settings file.
TYPES: dict[str, Any] = {f.name: str if f.type is Path else f.type for f in fields(Settings)}


def checkout() -> Path | None:
    """Return the source tree of this package, or None if it was installed as a wheel."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "experiments").is_dir() else None


def experiments_dir() -> Path:
    """Return the folder of experiment files: in the wheel, or at the top of the source tree."""
    inside = PACKAGE / "experiment_files"
    return inside if inside.is_dir() else PACKAGE.parent / "experiments"


def config_path() -> Path:
    """Return the path of the user's settings file; it may not exist."""
    return _users_folder("config") / "config.yaml"


def _users_folder(kind: str) -> Path:
    """Return the user's folder of a kind; in the current folder if the user has no home."""
    import platformdirs

    try:
        return Path(getattr(platformdirs, f"user_{kind}_dir")("transferbench", appauthor=False))
    except RuntimeError:
        return Path.cwd() / ".transferbench" / kind


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings without the command line's.

    Raises
    ------
    UserError
        For an invalid settings file or variable.
    """
    root, folder = checkout(), Path.cwd()
    # The committed results are those of work inside the checkout; other work has its own folder.
    inside = root is not None and folder.is_relative_to(root.resolve())
    results = (root if root and inside else folder) / "results"
    defaults = Settings(data=root / "data" if root else _users_folder("cache"), results=results)
    changes = _from_file(config_path())
    for name in TYPES:
        variable = f"TRANSFERBENCH_{'MIRROR' if name == 'mirrors' else name.upper()}"
        if text := environment.get(variable):
            changes[name] = _convert(name, text.split() if name == "mirrors" else text, variable)
    return defaults.replace(**changes)


def _from_file(path: Path) -> dict[str, object]:
    # Without right to the folder, as that of another user is, Path.is_file raises.
    if not os.path.isfile(path):  # noqa: PTH113
        return {}
    if not os.access(path, os.R_OK):
        warnings.warn(f"{path}: cannot be read and is left out", stacklevel=2)
        return {}
    from transferbench import strict_yaml

    data, lines = strict_yaml.load(path)
    if not isinstance(data, dict | None):
        raise lines.error((), f"expected 'name: value' lines with {', '.join(TYPES)}.")
    values: dict[str, object] = {}
    for name, value in (data or {}).items():
        with lines.at(name):
            if name not in TYPES:
                raise unknown("setting", f"{name}", TYPES)
            single = name == "mirrors" and isinstance(value, str)
            values[name] = _convert(name, [value] if single else value, name)
    return values


def _convert(name: str, value: object, what: str) -> object:
    """Return the value of a setting as its type. Raise UserError, naming `what`, if it is not."""
    converted = convert(value, TYPES[name], what)
    return user_path(converted) if TYPES[name] is str else converted
