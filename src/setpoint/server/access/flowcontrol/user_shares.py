"""Counts what the users of a server have open, up to a limit of which one user may have three quarters."""


class UserShares:
    """The open uses of one kind. One user may have at most three quarters of them, so that other users are not locked
    out."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._most_of_one = max(most * 3 // 4, 1)
        self.open = 0
        self._by_user: dict[str, int] = {}

    def is_full(self, user: str) -> bool:
        """Returns True if the user may not open another one."""
        return self.open >= self._most or self._by_user.get(user, 0) >= self._most_of_one

    def opened(self, user: str) -> None:
        self.open += 1
        self._by_user[user] = self._by_user.get(user, 0) + 1

    def closed(self, user: str) -> None:
        self.open -= 1
        left = self._by_user[user] - 1
        if left:
            self._by_user[user] = left
        else:
            del self._by_user[user]
