"""What several tests of supervision start from."""

import pytest

from tests.unit.submission.setup import Case


@pytest.fixture
def case():
    return Case(several=True)
