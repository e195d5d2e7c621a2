"""Every promise has a test that is named after it, and no test is named after a promise that nobody made."""

from __future__ import annotations

from scripts.docs_promises import MODELLED, PROMISES, ROOT, named_after, proofs


def test_every_promise_has_a_test():
    """The page that lists them is kept fresh like every other."""
    assert [promise for promise in PROMISES if promise not in proofs()] == []


def test_the_protocols_promises_are_all_there():
    """Twenty-five of safety and eleven of liveness; S22 to S25 are of what is not built yet, one of it modelled."""
    numbered = [f"S{number}" for number in (*range(1, 22), 26, 27, 28, 29)] + [f"L{number}" for number in range(1, 12)]
    assert [promise for promise in PROMISES if promise[0] in "SL"] == numbered


def test_no_test_is_named_after_a_promise_that_is_not_there():
    """A wrong number would stand in no table."""
    known = PROMISES | MODELLED
    assert [(file.relative_to(ROOT), test) for promise, file, test in named_after() if promise not in known] == []


def test_what_is_modelled_only_is_tested_by_the_model_only():
    """A test of code says that there is code: then the promise is one of the others."""
    assert MODELLED.keys() & PROMISES.keys() == set()
    model = ROOT / "tests" / "model"
    assert {promise for promise, _, _ in named_after()} >= MODELLED.keys()
    assert [test for promise, file, test in named_after() if promise in MODELLED and model not in file.parents] == []
