"""What is printed while runs are performed: their number, the time that is left."""

from __future__ import annotations

from contextlib import closing

import pytest

from transferbench.messages import duration
from transferbench.runs import progress
from transferbench.runs.progress import ProgressBar


class Clock:
    """A clock that the test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "monotonic", clock)
    return clock


def perform(bar: ProgressBar, clock: Clock, run: str, seconds: float) -> None:
    """Perform a run in so many seconds, with a sign of life each second."""
    bar.update(run)
    for _ in range(int(seconds)):
        clock.now += 1
        bar.update()
    bar.end(run)


def test_without_a_terminal_there_is_a_line_every_ten_seconds(clock, capfd):
    bar = ProgressBar("abcdef", dict.fromkeys("abcdef", 7.0))
    for run in "abcdef":
        perform(bar, clock, run, 7)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert (out, len(lines)) == ("", 4)
    assert lines[0] == "1/6 runs, about 32 seconds left: b"
    assert [line.split()[0] for line in lines] == ["1/6", "2/6", "4/6", "5/6"]
    bar = ProgressBar("abc")
    for run in "abc":  # within the period
        perform(bar, clock, run, 3)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("factor", [0.5, 1, 3])
def test_the_time_left_follows_the_forecast_and_the_measured_speed(clock, factor):
    """Runs of very different length: a bar that counts runs would be wrong by hours."""
    expected = {"quick": 2.0, "slow": 100.0, "last": 600.0}
    bar = ProgressBar(expected, expected)
    assert bar.remaining() == 702
    for run in ("quick", "slow"):
        perform(bar, clock, run, factor * expected[run])
    bar.update("last")
    assert bar.remaining() == pytest.approx(600 * factor)
    clock.now += 60
    assert bar.remaining() == pytest.approx(600 * factor - 60)


def test_the_pace_of_this_machine_counts_from_the_first_finished_run_on(clock):
    """A busy machine takes ten times as long as the forecast; two runs are out at a time."""
    bar = ProgressBar("abcdef", dict.fromkeys("abcdef", 2.0))
    bar.update("a")
    bar.update("b")
    clock.now += 20
    bar.end("a")
    bar.update("c")
    assert bar.remaining() == pytest.approx((4 * 20 + 2) / 2)


@pytest.mark.parametrize("expected", [{}, {"a": 1e-3, "b": 1e-3}, {"a": 2.0}])
@pytest.mark.parametrize("has_ended", [False, True])
def test_no_time_is_never_left_while_runs_are_out(clock, expected, has_ended):
    bar = ProgressBar("abc", expected)
    bar.update("a", 1, 1)
    if has_ended:
        bar.end("a")
        bar.update("b")
    for _ in range(100):
        clock.now += 3
        assert bar.remaining() >= 1
        assert "about 0 " not in str(bar)


def test_without_a_forecast_runs_that_ended_and_iterations_tell_the_time(clock):
    bar = ProgressBar("ab")
    bar.update("a")
    clock.now += 10
    assert bar.remaining() is None
    assert str(bar) == "0/2 runs: a"
    bar.update("a", 25, 100)
    assert str(bar) == "0/2 runs, about 70 seconds left: a (25/100)"
    clock.now += 20
    bar.end("a")
    assert str(bar) == "1/2 runs, about 30 seconds left"


def test_a_duration_in_words():
    assert [duration(seconds) for seconds in (1.2, 89, 90, 12240)] == [
        "1 second", "89 seconds", "2 minutes", "3.4 hours"
    ]  # fmt: skip


def test_late_progress_of_an_ended_run_is_not_shown():
    with closing(ProgressBar(["one", "two"])) as bar:
        bar.update("one", 1, 2)
        bar.update("two")
        assert bar.tqdm.n == 0.5
        bar.end("one")
        bar.update("one", 2, 2)
        bar.update()
        assert bar.tqdm.n == 1
