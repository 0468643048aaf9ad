"""The hooks of pre-commit run what `make check` runs."""

from __future__ import annotations

import re

import yaml
from conftest import ROOT


def test_make_check_runs_every_hook_and_nothing_else():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    (local,) = yaml.safe_load(text)["repos"]
    assert local["repo"] == "local"  # others need the network
    hooks = [hook["entry"] for hook in local["hooks"]]
    recipe = re.search(r"(?m)^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"))[1]
    assert hooks == [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
