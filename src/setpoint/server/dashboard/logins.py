"""Logins of browsers: one-time tokens, and the sessions that they open. Both exist in memory only.

A token and a session act as the creator of the login, with the rights that this user has at each request. Their
numbers are bounded for each user and in total: a user's oldest one ends when there are too many, and those of
other users stay.
"""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Generic, TypeVar

from setpoint.objects.clock import Clock
from setpoint.objects.errors import TooManyRequests
from setpoint.server.ports import Login, User

# The lifetime of a session. A session of a browser that is not used ends earlier.
SESSION_SECONDS, IDLE_SECONDS = 7 * 86_400, 86_400
_MOST_OF_USER, _MOST = 32, 1024
_RETRY_SECONDS = 60
T = TypeVar("T", bound="_Kept")


@dataclass
class _Kept:
    """A login or a session, until its end."""

    user: User
    ends: float


@dataclass
class BrowserSession(_Kept):
    """The session of a browser."""

    # The origin of the page, such as `http://127.0.0.1:8080`: requests of other pages are refused.
    origin: str
    idle_until: float


class Logins:
    """The tokens and sessions of one server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tokens = _Bounded[_Kept]()
        self._sessions = _Bounded[BrowserSession]()

    def create(self, user: User, seconds: int) -> Login:
        """Creates a login of a user. Raises TooManyRequests if other users have too many."""
        token = secrets.token_urlsafe(32)
        now = self._clock.monotonic()
        self._tokens.add(_key(token), _Kept(user, now + seconds), now)
        return Login(token, self._clock.now() + timedelta(seconds=seconds))

    def open(self, token: str, origin: str) -> str | None:
        """Uses a token, and returns the secret of the new session; None if the token is used, expired or unknown.
        Raises TooManyRequests if other users have too many sessions."""
        now = self._clock.monotonic()
        login = self._tokens.pop(_key(token), now)
        if login is None:
            return None
        secret = secrets.token_urlsafe(32)
        session = BrowserSession(login.user, now + SESSION_SECONDS, origin, now + IDLE_SECONDS)
        self._sessions.add(_key(secret), session, now)
        return secret

    def session(self, secret: str) -> BrowserSession | None:
        """Returns the session of a secret, which stays in use; None if ended or unknown."""
        now = self._clock.monotonic()
        found = self._sessions.get(_key(secret), now)
        if found is None:
            return None
        if found.idle_until <= now:
            self._sessions.pop(_key(secret), now)
            return None
        found.idle_until = now + IDLE_SECONDS
        return found

    def close(self, secret: str) -> None:
        """Ends a session."""
        self._sessions.pop(_key(secret), self._clock.monotonic())

    def clear(self) -> None:
        """Ends all sessions and tokens, for instance because users may have been removed."""
        self._tokens = _Bounded()
        self._sessions = _Bounded()


class _Bounded(Generic[T]):
    """A bounded number of entries, oldest first."""

    def __init__(self) -> None:
        self._entries: dict[bytes, T] = {}

    def add(self, key: bytes, entry: T, now: float) -> None:
        """Adds an entry. Ends the user's oldest one if the user has too many. Raises TooManyRequests."""
        for old, each in list(self._entries.items()):
            if each.ends <= now:
                del self._entries[old]
        own = [old for old, each in self._entries.items() if each.user.name == entry.user.name]
        for old in own[: max(0, len(own) + 1 - _MOST_OF_USER)]:
            del self._entries[old]
        if len(self._entries) >= _MOST:
            raise TooManyRequests.of("too many logins to the dashboard: try again later", _RETRY_SECONDS)
        self._entries[key] = entry

    def get(self, key: bytes, now: float) -> T | None:
        """Returns an entry that has not ended."""
        found = self._entries.get(key)
        return found if found is not None and now < found.ends else None

    def pop(self, key: bytes, now: float) -> T | None:
        """Removes and returns an entry; returns None if the entry has ended."""
        found = self.get(key, now)
        self._entries.pop(key, None)
        return found


def _key(secret: str) -> bytes:
    """Returns the hash of a secret: the time of a lookup then does not depend on the secrets in memory."""
    return sha256(secret.encode()).digest()
