"""The problems that a test expects, as with `pytest.raises`."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from setpoint.testing.problems import Problem


class Expectation:
    """A context in which a test expects problems. `problems` has those that occurred.

    with world.expect(ValueError, match="no members") as expected:
        await world.run(teams)
    assert len(expected.problems) == 1
    """

    def __init__(self, active: "list[Expectation]", kinds: tuple[type[BaseException], ...], match: str) -> None:
        self.problems: list[Problem] = []
        self._active = active
        self._kinds = kinds
        self._match = match

    def takes(self, problem: Problem) -> bool:
        """Returns True for an expected problem, and keeps the problem."""
        if not problem.is_a(self._kinds, self._match):
            return False
        self.problems.append(problem)
        return True

    def __enter__(self) -> Self:
        self._active.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self._active.remove(self)
        if error is None and not self.problems:
            raise AssertionError(
                f"no controller had the expected problem {self}: let its reconcile happen inside the block, with "
                "`await world.run(...)`, `settle`, `advance` or `eventually`"
            )

    def __str__(self) -> str:
        names = " or ".join(kind.__name__ for kind in self._kinds)
        return f"{names} matching {self._match!r}" if self._match else names


def as_kinds(kinds: "type[BaseException] | Sequence[type[BaseException]]") -> tuple[type[BaseException], ...]:
    """Returns exception classes as a tuple. Raises TypeError for other values."""
    found = (kinds,) if isinstance(kinds, type) else tuple(kinds)
    for kind in found:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError(f"{kind!r} is not an exception class: give an exception or a class of testing.Problem")
    return found
