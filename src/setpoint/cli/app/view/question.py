"""A question answered with single keys: which part to restart. Pure."""

from collections.abc import Sequence

# Up to this number of parts, one digit is enough; for more, Enter completes the number.
_ONE_DIGIT = 9


class Question:
    """Asks for one of several names by number, or for all of them with `a`."""

    def __init__(self, names: Sequence[str], everything: Sequence[str]) -> None:
        self.names, self._everything = tuple(names), tuple(everything)
        self.typed = ""

    def press(self, key: str) -> tuple[str, ...] | None:
        """Takes a key. Returns the chosen names, an empty tuple if the answer is invalid, or None if it is
        incomplete.
        """
        if key == "a":
            return self._everything
        if key.isdigit():
            self.typed += key
            if len(self.names) > _ONE_DIGIT:
                return None
        elif key not in "\r\n":
            return ()
        number = int(self.typed or 0)
        return self.names[number - 1 : number] if number else ()
