"""The signals that an operation may take too long: for the event loop, or in total."""


class Lengthy(Exception):  # noqa: N818 - asks for another place, not for a remedy
    """The rules may take too long for the event loop. There is no result; the caller must validate on a thread."""


class TooManySteps(Exception):  # noqa: N818 - becomes an error of the object
    """The check was abandoned: the object has too many values, and its schema too many alternatives for each."""


# The maximum number of schema checks for one object: alternatives for each of very many values would otherwise be
# unbounded. An object of 3 MB has some hundred thousand values.
MOST_STEPS = 2_000_000
