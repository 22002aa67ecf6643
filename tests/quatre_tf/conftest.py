import pytest

from tests.trainers.training.wiring import eagerly


@pytest.fixture
def uncompiled():
    """For tests of formulas: compiling them takes far longer than what they compute."""
    with eagerly():
        yield
