"""What reaches a terminal is text alone, without passwords; hints fit the installed copy."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import transferbench
from transferbench import messages
from transferbench.cli._terminal import OncePrinter, echo
from transferbench.messages import hide_passwords, install_hint, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x07", "\\u001b[2J\\u0007"),
        ("a\rb\x7f\x9b31m", "a\\u000db\\u007f\\u009b31m"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("lone \ud800", "lone \\ud800"),
        ("Käse, 日本語\tو ‌\n", "Käse, 日本語\tو ‌\n"),
    ],
)
def test_only_text_is_shown(text, shown):
    assert printable(text) == shown
    printable(text).encode()  # nothing that a terminal's encoding lacks


def test_escaped_json_has_the_same_content():
    record = {"label": "\x1b[1m\x9b\u202e\ud800", "address": "http://a@x"}
    for ascii_only in (True, False):
        assert json.loads(printable(json.dumps(record, ensure_ascii=ascii_only))) == record


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("https://host/a@b", "https://host/a@b"),
        ("git+https://t0ken@host/r.git@v1", "git+https://host/r.git@v1"),
        ("'http://u:p%40@h:80/' and ftp://u:p@q@h", "'http://h:80/' and ftp://h"),
    ],
)
def test_user_names_and_passwords_of_addresses_are_hidden(text, hidden):
    assert hide_passwords(text) == hidden


def test_messages_have_no_passwords_but_data_stay_as_they_are(capsys):
    echo("http://a@x")
    echo("at http://me:pw@host/x", err=True)
    assert "pw" not in messages.shorten("http://me:pw@host") + messages.excerpt(
        b"http://me:pw@host"
    )
    assert capsys.readouterr() == ("http://a@x\n", "at http://host/x\n")


def test_a_warning_is_printed_once_in_one_line_without_a_path(capsys):
    with warnings.catch_warnings():
        warnings.showwarning = OncePrinter().show_warning
        warnings.simplefilter("always")
        for _ in range(3):
            warnings.warn("take\n care \x1b[1m", stacklevel=1)
    assert capsys.readouterr().err == "warning: take care \\u001b[1m\n"


def test_the_hint_fits_a_checkout_and_an_installed_copy(monkeypatch, tmp_path):
    root = Path(transferbench.__file__).parents[1]
    assert install_hint("modern") == f"run `pip install -e '.[modern]'` in {root}"
    monkeypatch.setattr(messages, "__file__", str(tmp_path / "transferbench" / "messages.py"))
    assert "its extra [modern]" in install_hint("modern")
