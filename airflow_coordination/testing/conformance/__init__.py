"""The store conformance kit: what every store, also one from outside, must do.

Subclass :class:`StoreConformance` in a test module of yours and give it a ``store_factory`` fixture: a
function that returns a new, empty store whose clock is the one it is given. pytest does the rest::

    import pytest
    from airflow_coordination.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def store_factory(self, tmp_path):
            return lambda clock: MyStore(tmp_path / "store", clock=clock)

The kit sets the store up, and closes it after each test. Time moves only through the clock, so nothing
waits. What a store has not (:func:`~.parts.parts_of`) is not tested: its tests are skipped. Up to
sixteen threads share the store in some tests; ``writers = 1`` in the test class skips these.
"""

from __future__ import annotations

from pkgutil import iter_modules

import pytest

pytest.register_assert_rewrite(*(f"{__name__}.{part.name}" for part in iter_modules(__path__)))

from airflow_coordination.testing.conformance.kit import StoreConformance  # noqa: E402

__all__ = ["StoreConformance"]
