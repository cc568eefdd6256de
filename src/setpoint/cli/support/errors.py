"""How commands fail: one line that says what and what to do about it, and an exit code that scripts can go by."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

FAILED = 1
USAGE = 2  # click's own
NOT_FOUND = 3
TIMED_OUT = 4
NO_SERVER = 5
NOT_ALLOWED = 6
CONFLICT = 7
INTERRUPTED = 130

MEANINGS = {
    0: "done",
    FAILED: "refused by the server, or something went wrong",
    USAGE: "the command line cannot be understood",
    NOT_FOUND: "no such object, kind or session",
    TIMED_OUT: "it did not happen in time",
    NO_SERVER: "there is no server, or it does not answer",
    NOT_ALLOWED: "the server does not know you, or does not let you",
    CONFLICT: "somebody else changed it, or owns a field of it",
    INTERRUPTED: "interrupted with Ctrl-C",
}


class Failure(click.ClickException):
    """What a command could not do, with the exit code for it."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        setattr(self, "exit_code", exit_code)  # noqa: B010 - click has it as one for the whole class

    def format_message(self) -> str:
        from setpoint.cli.output.terminal import harmless

        # Servers quote what they were sent, and what objects say.
        return harmless(self.message)


@contextmanager
def explained(where: str = "") -> Iterator[None]:
    """Turns the errors of the client into failures. `where` says how the server was found."""
    from setpoint.client.connection_config import ConfigError
    from setpoint.client.mapper import NoMatch
    from setpoint.client.transport import NoAnswerInTime, TransportError
    from setpoint.objects.errors import APIError

    try:
        yield
    except APIError as error:
        raise Failure(error.message, code_of(error)) from None
    except NoMatch as error:
        raise Failure(str(error), NOT_FOUND) from None
    except ConfigError as error:
        raise Failure(str(error), NO_SERVER) from None
    except NoAnswerInTime as error:
        raise Failure(str(error), TIMED_OUT) from None
    except TransportError as error:
        found = f" (found by {where})" if where else ""
        raise Failure(f"{error}{found}. Is it still running? `setpoint doctor` looks into it", NO_SERVER) from None


@contextmanager
def in_one_line() -> Iterator[None]:
    """Ctrl-C ends a command quietly, with the code that shells give it; a fault of ours becomes a failure in one line,
    unless SETPOINT_DEBUG asks for all of it."""
    try:
        yield
    except (KeyboardInterrupt, click.Abort):
        if sys.stderr.isatty():
            from setpoint.cli.output.terminal import echo

            echo(err=True)  # behind the ^C
        raise SystemExit(INTERRUPTED) from None
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise  # click tells of the one, and knows what the others mean
    except Exception as error:
        # Several things may have been under way at once; the first failure is told.
        first = _first(error)
        if os.environ.get("SETPOINT_DEBUG") or isinstance(first, click.ClickException):
            raise first from None
        raise Failure(
            f"this should not have happened: {type(first).__name__}: {first}. Set SETPOINT_DEBUG=1 to see where"
        ) from None


def _first(error: Exception) -> Exception:
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def code_of(error: Exception) -> int:
    """The exit code for an error of the API."""
    from setpoint.objects import errors

    codes: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
        ((errors.NotFound,), NOT_FOUND),
        ((errors.Timeout, errors.ServerTimeout), TIMED_OUT),
        ((errors.Unauthorized, errors.Forbidden), NOT_ALLOWED),
        ((errors.Conflict, errors.AlreadyExists), CONFLICT),
    )
    return next((code for kinds, code in codes if isinstance(error, kinds)), FAILED)
