"""The shop's way to its database: one connection, one question at a time."""

import os
import socket
from types import TracebackType
from typing import Self


class StoreError(Exception):
    """The database cannot be asked; says why."""


class Store:
    """A connection to the database that DB names."""

    def __init__(self) -> None:
        host, _, port = os.environ["DB"].rpartition(":")
        try:
            self.connection = socket.create_connection((host, int(port)))
        except OSError as error:
            raise StoreError(f"no connection to {host}:{port}: {error.strerror}") from None
        self.file = self.connection.makefile("rw", encoding="utf-8")
        if (answer := self.ask("AUTH", os.environ["DB_PASSWORD"])) != "welcome":
            raise StoreError(f"the database says: {answer}")

    def ask(self, *words: object) -> str:
        """The answer to a command; db.py says which there are."""
        try:
            print(*words, file=self.file, flush=True)
            answer = self.file.readline()
        except OSError as error:
            raise StoreError(f"the database is gone: {error.strerror}") from None
        if not answer:
            raise StoreError("the database has closed the connection")
        return answer.rstrip("\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()
