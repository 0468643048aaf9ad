from __future__ import annotations

from pathlib import Path

import pytest

from transferbench import settings
from transferbench.errors import UserError


@pytest.fixture
def config(home, tmp_path):
    path = settings.config_path()
    path.parent.mkdir(parents=True)
    return path


def test_in_a_checkout_data_and_results_lie_in_it(home):
    root = settings.checkout()
    assert root is not None
    assert settings.load({}).data == root / "data"
    assert settings.load({}).results == root / "results"


def test_the_environment_wins_over_the_file(config):
    config.write_text("data: ~/mine\nmirrors: [/a, 'https://b.example/c']\noffline: true\n")
    from_file = settings.load({})
    assert from_file.data == Path("~/mine").expanduser()
    assert from_file.mirrors == ("/a", "https://b.example/c")
    assert from_file.offline
    over = settings.load(
        {"TRANSFERBENCH_DATA": "/d", "TRANSFERBENCH_MIRROR": "/x /y", "TRANSFERBENCH_OFFLINE": "0"}
    )
    assert (over.data, over.mirrors, over.offline) == (Path("/d"), ("/x", "/y"), False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data: [", "not a readable YAML file"),
        ("- 1", "expected 'name: value' lines"),
        ("mirors: /a", "unknown setting 'mirors'. Did you mean 'mirrors'?"),
        ("offline: perhaps", "offline"),
    ],
)
def test_a_settings_file_that_is_wrong_is_named(config, text, message):
    config.write_text(text)
    with pytest.raises(UserError) as error:
        settings.load({})
    assert message in str(error.value)
    assert "config.yaml" in str(error.value)
