"""While many values come to be nobody searches for dead cycles; ``made_of`` is tested with what is made by it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from airflow_coordination.values.in_bulk import unsearched


@pytest.fixture(autouse=True)
def searching() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def test_the_search_rests_and_goes_on_whatever_is_raised() -> None:
    @unsearched()
    def fail() -> None:
        with unsearched():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert gc.isenabled()


def test_who_has_turned_it_off_finds_it_off() -> None:
    gc.disable()
    with unsearched():
        pass
    assert not gc.isenabled()


def test_it_goes_on_when_the_last_of_several_threads_is_done() -> None:
    began, may_end = threading.Event(), threading.Event()

    @unsearched()
    def another() -> None:
        began.set()
        assert may_end.wait(60)

    thread = threading.Thread(target=another)
    with unsearched():
        thread.start()
        assert began.wait(60)
    assert not gc.isenabled()
    may_end.set()
    thread.join()
    assert gc.isenabled()
