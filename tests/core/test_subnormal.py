"""Subnormal numbers count as zero inside a fit, in every thread, and nowhere else."""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext, suppress

import numpy as np
import pytest
from conftest import make_multilabel, make_problem

import transferbench
from transferbench.core import nmtf, subnormal
from transferbench.core.parallel import use_threads
from transferbench.models.multilabel import _layers

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


@pytest.mark.parametrize("model", ["dtl", "gcmf", "mtrick", "mrtl"])
def test_where_the_processor_cannot_flush_decisions_are_the_same(monkeypatch, model):
    problem = make_problem(documents=60, features=90)[0]
    params = {"max_iter": 40}
    found = transferbench.fit(model, problem, seed=0, **params)
    monkeypatch.setattr(subnormal, "_can_switch", lambda: False)
    monkeypatch.setattr(nmtf, "SINK_EVERY", 8)
    again = transferbench.fit(model, problem, seed=0, **params)
    for one, other in zip(found.scores, again.scores, strict=True):
        assert (one.argmax(axis=1) == other.argmax(axis=1)).all()
    assert again.trace == pytest.approx(found.trace, rel=1e-5)


@switches
@pytest.mark.parametrize("model", ["dtl", "himls"])
def test_a_fit_flushes_but_code_of_a_user_does_not(monkeypatch, model):
    inside, seen = [], []
    switch = subnormal.flush_to_zero

    @contextmanager
    def noted():
        with switch():
            inside.append(is_flushed())
            yield

    monkeypatch.setattr(nmtf if model == "dtl" else _layers, "flush_to_zero", noted)
    problem = make_problem()[0] if model == "dtl" else make_multilabel()[0]
    params = {"max_iter": 3} if model == "dtl" else {"p": [3], "q": [3], "pretrain": 3}
    transferbench.fit(model, problem, seed=0, watch=lambda *_: seen.append(is_flushed()), **params)
    assert inside
    assert all(inside)
    assert seen
    assert not any(seen)


@pytest.mark.parametrize(("dtype", "least"), [("float32", 1e-24), ("float64", 1e-200)])
def test_only_tiny_entries_of_free_factors_sink(dtype, least):
    values = np.array([[1, least, least * 1e-10, 0]]).T
    V, U, H = nmtf.Factor(values), nmtf.Factor(values, fixed=True), nmtf.Factor(np.ones((1, 1)))
    engine = nmtf.NMTF(
        [nmtf.Term(np.ones((4, 4)), V, ((U, H),))], normalize_at="update", dtype=dtype
    )
    engine._sink()
    assert (V.value > 0).ravel().tolist() == [True, True, False, False]
    assert (U.value > 0).ravel().tolist() == [True, True, True, False]
    assert V.value[0] == 1


@switches
@pytest.mark.parametrize("model", ["himls", "himlsd"])
def test_the_processor_and_our_flush_give_the_same_bits(monkeypatch, model):
    problem = make_multilabel()[0]
    params = {"p": [6, 3], "q": [5, 3], "dtype": "float32", "pretrain": 60, "finetune": 60}
    params |= {"alpha": [1.0]}
    found = transferbench.fit(model, problem, seed=0, **params)
    monkeypatch.setattr(subnormal, "_can_switch", lambda: False)
    again = transferbench.fit(model, problem, seed=0, **params)
    for one, other in zip(found.scores, again.scores, strict=True):
        np.testing.assert_array_equal(one, other)
