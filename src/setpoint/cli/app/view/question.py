"""Which part to restart: a question that is answered with single keys. Pure."""

from collections.abc import Sequence

# So many parts can be chosen with one digit; of more, Enter ends the number.
_ONE_DIGIT = 9


class Question:
    """Asks for one of some names by its number, or for all of those that `a` means."""

    def __init__(self, names: Sequence[str], everything: Sequence[str]) -> None:
        self.names, self._everything = tuple(names), tuple(everything)
        self.typed = ""

    def press(self, key: str) -> tuple[str, ...] | None:
        """Another key: the names that are meant, none where it means nothing; None: the answer is not complete."""
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
