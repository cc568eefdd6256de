"""A file that somebody else writes is a log as any other."""

import asyncio
import os
from pathlib import Path

from tests.workload.logs.books import Book

from setpoint.workload.logs.file_follower import FollowedFile


async def test_a_growing_file_is_followed_with_numbers_and_times(tmp_path: Path) -> None:
    book, path = Book(tmp_path), tmp_path / "raw"
    path.write_bytes(b"one\n")
    os.utime(path, (0, book.clock.now().timestamp() - 60))
    followed = FollowedFile(path, book.clock)
    book.tracks["stdout"] = followed
    follower = book.follow(line_numbers=True, timestamps=True)
    news = asyncio.Event()
    followed.readers.add(news)
    with path.open("ab") as file:
        file.write(b"two\nthr")
        file.flush()
        await news.wait()
        book.clock.advance(1)
        file.write(b"ee\n4\n")
    followed.close()
    book.done.set()
    assert await follower == (
        b"1 2026-05-04T11:59:00.000Z one\n"
        b"2 2026-05-04T12:00:00.000Z two\n"
        b"3 2026-05-04T12:00:00.000Z three\n"
        b"4 2026-05-04T12:00:01.000Z 4\n"
    )
    followed.release()


async def test_what_came_while_nobody_looked_is_there_and_the_numbers_go_on(tmp_path: Path) -> None:
    book, path = Book(tmp_path), tmp_path / "raw"
    path.write_bytes(b"1\n2\n")
    FollowedFile(path, book.clock).release()
    with path.open("ab") as file:
        file.write(b"3\n4")
    again = FollowedFile(path, book.clock)
    book.tracks["stdout"] = again
    assert await book.read(tail=2, line_numbers=True) == b"3 3\n4 4"
    assert (again.complete(), again.partial()) == (3, True)
    path.write_bytes(b"new\n")  # emptied and written anew
    again.close()
    assert await book.read(line_numbers=True) == b"1 new\n"
    again.remove()
    assert list(tmp_path.iterdir()) == []
