"""The problems of controllers that fail a test unless the test expects them."""

import re
from types import TracebackType

_PACKAGE = __name__.partition(".")[0]


class Problem(Exception):  # noqa: N818 - the base of named events
    """A problem of a controller in a test world. `error` is the exception behind the problem, if any.

    with world.expect(testing.Problem) as expected:
        await world.run(widgets)
    assert [problem.object for problem in expected.problems] == ["default/w"]
    """

    def __init__(
        self,
        message: str,
        *,
        controller: str = "",
        object: str = "",  # noqa: A002 - the attribute's own name
        error: BaseException | None = None,
    ) -> None:
        super().__init__(message)
        # The controller; empty for a request outside a reconcile.
        self.controller = controller
        # The reconciled object, as `namespace/name`; empty outside a reconcile.
        self.object = object
        self.error = error
        # Kept here, because controllers release the traceback of old errors.
        self._traceback = None if error is None else author_traceback(error.__traceback__)

    def is_a(self, kinds: tuple[type[BaseException], ...], match: str = "") -> bool:
        """Returns True if the problem or its exception is of one of these classes, and the text matches."""
        if not isinstance(self, kinds) and not isinstance(self.error, kinds):
            return False
        return not match or re.search(match, str(self)) is not None

    def chained(self) -> "Problem":
        """Returns the problem with its exception as the cause."""
        if self.error is not None:
            self.__cause__ = self.error.with_traceback(self._traceback)
        return self


class ReconcileFailed(Problem):
    """A reconcile, a daemon, a timer, a webhook or the function of a source raised an exception."""


class MissingRight(Problem):
    """The server refused a request of a controller, because its user lacks the right."""


class ReconcileLoop(Problem):
    """A controller reconciles the same object again and again, because of its own writes or those of others."""


class UndeclaredWrite(Problem):
    """A controller wrote an undeclared kind; the role derived from the declaration lacks the right."""


def author_traceback(found: TracebackType | None) -> TracebackType | None:
    """Returns the part of a traceback that begins with the author's code; the whole if there is no such part."""
    part = found
    while part is not None:
        if str(part.tb_frame.f_globals.get("__name__", "")).partition(".")[0] != _PACKAGE:
            return part
        part = part.tb_next
    return found
