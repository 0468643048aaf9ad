"""An interrupt waits until it is asked for, but a second one does not."""

from __future__ import annotations

import signal

import pytest

from transferbench.runs.progress import DeferInterrupt


@pytest.mark.parametrize("number", [2, 15])
def test_a_second_ctrl_c_is_raised_at_once_as_is_one_while_suspended(ctrl_c, number):
    reached = []

    def second():
        with DeferInterrupt():
            ctrl_c(number)
            reached.append("first")
            ctrl_c(number)
            reached.append("second")

    def suspended():
        with DeferInterrupt() as interrupt, interrupt.suspended():
            ctrl_c(number)
            reached.append("suspended")

    def before():
        with DeferInterrupt() as interrupt:
            ctrl_c(number)
            reached.append("before")
            with interrupt.suspended():
                reached.append("entered")

    def at_the_end():
        with DeferInterrupt():
            ctrl_c(number)

    for use in (second, suspended, before, at_the_end):
        with pytest.raises(KeyboardInterrupt):
            use()
    assert reached == ["first", "before"]


def test_a_signal_with_another_handler_is_not_deferred():
    taken = []
    former = signal.signal(signal.SIGINT, lambda number, _: taken.append(number))
    try:
        with DeferInterrupt() as interrupt:
            signal.raise_signal(signal.SIGINT)
            interrupt.raise_pending()
    finally:
        signal.signal(signal.SIGINT, former)
    assert taken == [signal.SIGINT]
