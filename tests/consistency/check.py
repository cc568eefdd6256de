"""The checker: all violations of the promises of the API in a recorded round."""

from itertools import chain

from tests.consistency.history import History
from tests.consistency.log import read_log
from tests.consistency.operations import check_order, check_reads, check_writes
from tests.consistency.watching import check_watches


def violations(history: History) -> list[str]:
    """Returns the violations in a round; none if the round was consistent."""
    log, found = read_log(history)
    return [
        *found,
        *chain(
            check_writes(history, log),
            check_order(history, log),
            check_reads(history, log),
            check_watches(history, log),
        ),
    ]
