"""Where things lie and how data are fetched: defaults, the settings file, the environment, options.

Later ones win: built-in defaults, `config.yaml` in the user's configuration folder, the environment
variables TRANSFERBENCH_DATA, TRANSFERBENCH_RESULTS, TRANSFERBENCH_MIRROR and TRANSFERBENCH_OFFLINE,
then the command line. Mirrors in the environment are parted by white space; one whose path has a
space goes into the settings file or is given by --mirror.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from transferbench.errors import UserError, unknown
from transferbench.parameters import convert

PACKAGE = Path(__file__).parent


@dataclass(frozen=True)
class Settings:
    """data, results: folders; mirrors: directories or URLs, tried in order; offline: no network."""

    data: Path
    results: Path
    mirrors: tuple[str, ...] = ()
    offline: bool = False

    def but(self, **changes: object) -> Settings:
        """A copy with the given settings changed; None leaves a setting as it is."""
        return replace(self, **{k: v for k, v in changes.items() if v is not None})  # type: ignore[arg-type]


def checkout() -> Path | None:
    """The source tree this package is imported from, or None where it was installed as a wheel."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "experiments").is_dir() else None


def experiments_dir() -> Path:
    """The folder of experiment files: inside the wheel, or at the top of the source tree."""
    inside = PACKAGE / "experiment_files"
    return inside if inside.is_dir() else PACKAGE.parent / "experiments"


def config_path() -> Path:
    """The user's settings file, whether or not it exists."""
    import platformdirs

    return Path(platformdirs.user_config_dir("transferbench", appauthor=False)) / "config.yaml"


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings before the command line's. Raises UserError for an unreadable settings file."""
    import platformdirs

    root = checkout()
    cache = Path(platformdirs.user_cache_dir("transferbench", appauthor=False))
    settings = Settings(
        data=root / "data" if root else cache, results=(root or Path.cwd()) / "results"
    )
    given = _from_file(config_path())
    if environment.get("TRANSFERBENCH_DATA"):
        given["data"] = Path(environment["TRANSFERBENCH_DATA"]).expanduser()
    if environment.get("TRANSFERBENCH_RESULTS"):
        given["results"] = Path(environment["TRANSFERBENCH_RESULTS"]).expanduser()
    if environment.get("TRANSFERBENCH_MIRROR"):
        given["mirrors"] = tuple(environment["TRANSFERBENCH_MIRROR"].split())
    if environment.get("TRANSFERBENCH_OFFLINE"):
        given["offline"] = convert(
            environment["TRANSFERBENCH_OFFLINE"], bool, "TRANSFERBENCH_OFFLINE"
        )
    return settings.but(**given)


def _from_file(path: Path) -> dict[str, object]:
    if not path.is_file():
        return {}
    import yaml

    known = [field.name for field in fields(Settings)]
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{path}: not a readable YAML file ({error}); mend or remove it.") from None
    if not isinstance(given, dict):
        raise UserError(f"{path}: expected 'name: value' lines with {', '.join(known)}.")
    for name, value in given.items():
        if name not in known:
            raise unknown("setting", f"{name}", known, f"(in {path})")
        if name == "mirrors" and isinstance(value, str):
            value = [value]
        kind = {"mirrors": tuple[str, ...], "offline": bool}.get(name, str)
        given[name] = convert(value, kind, f"{path}: {name}")
    return given | {
        name: Path(given[name]).expanduser() for name in ("data", "results") if name in given
    }
