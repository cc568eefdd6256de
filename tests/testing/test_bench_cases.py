"""The test cases of `bench testing` pass in a world; the bench itself runs them with all harnesses."""

import pytest
from bench.operator_tests.cases import CASES, Jars
from bench.operator_tests.run import setpoint_world


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_the_case_passes_in_a_world(case: object) -> None:
    with setpoint_world() as one:
        async with one() as jars:
            await _run(case, jars)


async def _run(case: object, jars: Jars) -> None:
    assert callable(case)
    await case(jars)
