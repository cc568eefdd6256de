"""The signals that work may take too long: for the event loop, or altogether."""


class Lengthy(Exception):  # noqa: N818 - asks for another place, not for a remedy
    """The rules may take too long for others to wait meanwhile. Nothing is decided; ask again where there is time."""


class TooManySteps(Exception):  # noqa: N818 - becomes an error of the object
    """The object has so many values, and its schema so many alternatives for each, that the check is given up."""


# How many schemas are held against values for one object: alternatives for each of very many values would be without
# bound otherwise. An object of 3 MB has some hundred thousand values.
MOST_STEPS = 2_000_000
