"""Subnormal numbers count as zero inside a fit, in every thread, and nowhere else."""

from __future__ import annotations

import threading
from contextlib import nullcontext, suppress

import numpy as np
import pytest
from conftest import make_multilabel

import transferbench
from transferbench.core import subnormal
from transferbench.core.parallel import use_threads

SMALL = np.array([1e-38], np.float32)
switches = pytest.mark.skipif(not subnormal._can_switch(), reason="this processor cannot")


def is_flushed() -> bool:
    """Look at the bits: a comparison would count a subnormal number as zero, too."""
    return not (SMALL / 4).view(np.uint32).any()


@switches
def test_subnormal_results_are_zero_inside_the_block_alone():
    assert not is_flushed()
    with suppress(ValueError), subnormal.flush_to_zero():
        assert is_flushed()
        with subnormal.flush_to_zero():
            assert is_flushed()
        assert is_flushed()
        assert not (SMALL / 4 * np.float32(1e10)).any()
        raise ValueError
    assert not is_flushed()


@switches
def test_each_thread_of_a_fit_flushes_and_is_restored():
    found: dict[int, bool] = {}
    all_there = threading.Barrier(3)

    def work(_):
        all_there.wait(10)
        found[threading.get_ident()] = is_flushed()

    for order in ((True, False), (False, True, False)):  # which starts the threads
        with use_threads(3):
            for inside in order:
                found.clear()
                with subnormal.flush_to_zero() if inside else nullcontext():
                    subnormal.share_work(work, range(3))
                assert [*found.values()] == [inside] * 3
                assert not is_flushed()


@pytest.mark.parametrize("switched", [pytest.param(True, marks=switches), False])
def test_flush_sets_subnormal_entries_to_zero(monkeypatch, switched):
    monkeypatch.setattr(subnormal, "_can_switch", lambda: switched)
    with subnormal.flush_to_zero():
        assert subnormal.by_us() is not switched
        factor = SMALL / np.array([1, 2, 1e20], np.float32)
        assert subnormal.flush(factor)[1:].tolist() == [0, 0]
        factor[0] = 1
        assert subnormal.flush(factor)[0] == 1


@switches
@pytest.mark.parametrize("model", ["himls", "himlsd"])
def test_the_processor_and_our_flush_give_the_same_bits(monkeypatch, model):
    problem = make_multilabel()[0]
    params = {"p": [6, 3], "q": [5, 3], "dtype": "float32", "pretrain": 60, "finetune": 60}
    found = transferbench.fit(model, problem, seed=0, **params)
    monkeypatch.setattr(subnormal, "_can_switch", lambda: False)
    again = transferbench.fit(model, problem, seed=0, **params)
    for one, other in zip(found.scores, again.scores, strict=True):
        np.testing.assert_array_equal(one, other)
