from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from transferbench import settings
from transferbench.errors import UserError


@pytest.fixture
def config(home, tmp_path):
    path = settings.config_path()
    path.parent.mkdir(parents=True)
    return path


def test_a_checkout_holds_its_data_and_results(home):
    root = settings.checkout()
    assert root is not None
    assert settings.load({}).data == root / "data"
    assert settings.load({}).results == root / "results"


def test_the_environment_overrides_the_file(config):
    config.write_text(
        "data: ~/mine\nmirrors: [/a, 'https://b.example/c']\noffline: true\nmax_size: 2.5\n"
    )
    from_file = settings.load({})
    assert from_file.data == Path("~/mine").expanduser()
    assert from_file.mirrors == ("/a", "https://b.example/c")
    assert from_file.offline
    over = settings.load(
        {"TRANSFERBENCH_DATA": "/d", "TRANSFERBENCH_MIRROR": "/x /y", "TRANSFERBENCH_OFFLINE": "0"}
    )
    assert (from_file.max_size, over.max_size) == (2.5, 2.5)
    assert settings.load({"TRANSFERBENCH_MAX_SIZE": "4"}).max_size == 4
    assert from_file.max_artefacts == 4
    assert settings.load({"TRANSFERBENCH_MAX_ARTEFACTS": "0"}).max_artefacts == 0
    assert (over.data, over.mirrors, over.offline) == (Path("/d"), ("/x", "/y"), False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data: [", "config.yaml:1: did not find expected node content; expected valid YAML"),
        ("- 1", "config.yaml:1: expected 'name: value' lines"),
        ("mirors: /a", "config.yaml:1: unknown setting 'mirors'. Did you mean 'mirrors'?"),
        (
            "data: x\noffline: perhaps",
            "config.yaml:2: offline: expected true or false, got 'perhaps'",
        ),
        ("max_size: 0", "config.yaml:1: max_size: expected number > 0"),
        ("data: a\ndata: b", "config.yaml:2: duplicate key 'data'"),
    ],
)
def test_a_wrong_settings_file_is_an_error_with_its_line(config, text, message):
    config.write_text(text)
    with pytest.raises(UserError) as error:
        settings.load({})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("place", ["file", "folder"])
def test_settings_that_may_not_be_read_are_left_out(config, place):
    config.write_text("data: ~/mine")
    locked = config if place == "file" else config.parent
    locked.chmod(0)
    try:
        if os.access(locked, os.R_OK):
            pytest.skip("this user may read every file")
        warned = pytest.warns(UserWarning, match="left out") if place == "file" else nullcontext()
        with warned:
            assert settings.load({}).data != Path("~/mine").expanduser()
    finally:
        locked.chmod(0o700)


def test_a_size_has_a_limit():
    for name in ("MAX_SIZE", "MAX_ARTEFACTS"):
        with pytest.raises(UserError, match=r"< 1048576, got '1e300'"):
            settings.load({f"TRANSFERBENCH_{name}": "1e300"})


@pytest.mark.parametrize("installed", [False, True])
def test_outside_a_checkout_results_go_to_the_current_folder(tmp_path, installed, monkeypatch):
    if installed:
        monkeypatch.setattr(settings, "checkout", lambda: None)
    monkeypatch.chdir(tmp_path)
    assert settings.load({}).results == tmp_path / "results"
