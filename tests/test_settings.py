from __future__ import annotations

from pathlib import Path

import pytest

from transferbench import settings
from transferbench.errors import UserError


def test_a_checkout_holds_its_data_and_results(home):
    root = settings.checkout()
    assert root is not None
    assert settings.load({}).data == root / "data"
    assert settings.load({}).results == root / "results"


def test_the_environment_overrides_the_defaults():
    found = settings.load(
        {
            "TRANSFERBENCH_DATA": "~/mine", "TRANSFERBENCH_MIRROR": "/x https://b.example/c",
            "TRANSFERBENCH_OFFLINE": "1", "TRANSFERBENCH_MAX_ARTEFACTS": "0",
            "TRANSFERBENCH_WITHOUT_TERMS": "unknown research-only",
        }
    )  # fmt: skip
    assert found.data == Path("~/mine").expanduser()
    assert (found.mirrors, found.offline) == (("/x", "https://b.example/c"), True)
    assert (found.max_size, found.max_artefacts) == (1, 0)
    assert found.without_terms == ("unknown", "research-only")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("OFFLINE", "perhaps", "TRANSFERBENCH_OFFLINE: expected true or false, got 'perhaps'"),
        ("MAX_SIZE", "0", "TRANSFERBENCH_MAX_SIZE: expected number > 0"),
        ("MAX_SIZE", "1e300", "< 1048576, got '1e300'"),
        ("MAX_ARTEFACTS", "1e300", "< 1048576, got '1e300'"),
        ("WITHOUT_TERMS", "unknown research", "'research'. Did you mean 'research-only'?"),
    ],
)
def test_a_wrong_variable_is_an_error_in_one_line(name, text, message):
    with pytest.raises(UserError) as error:
        settings.load({f"TRANSFERBENCH_{name}": text})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("installed", [False, True])
def test_outside_a_checkout_results_go_to_the_current_folder(tmp_path, installed, monkeypatch):
    if installed:
        monkeypatch.setattr(settings, "checkout", lambda: None)
    monkeypatch.chdir(tmp_path)
    assert settings.load({}).results == tmp_path / "results"
