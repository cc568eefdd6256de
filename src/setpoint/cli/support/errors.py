"""Errors of commands: one line with a remedy, and an exit code for scripts."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

FAILED = 1
USAGE = 2  # defined by click
NOT_FOUND = 3
TIMED_OUT = 4
NO_SERVER = 5
NOT_ALLOWED = 6
CONFLICT = 7
INTERRUPTED = 130

MEANINGS = {
    0: "done",
    FAILED: "refused by the server, or another error",
    USAGE: "invalid command line",
    NOT_FOUND: "no such object, kind or session",
    TIMED_OUT: "timed out",
    NO_SERVER: "no server, or the server does not answer",
    NOT_ALLOWED: "not authenticated or not authorized",
    CONFLICT: "conflict with another client's change or field ownership",
    INTERRUPTED: "interrupted with Ctrl-C",
}


class Failure(click.ClickException):
    """An error of a command, with its exit code."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        setattr(self, "exit_code", exit_code)  # noqa: B010 - click has it as one for the whole class

    def format_message(self) -> str:
        from setpoint.cli.output.terminal import harmless

        # Messages may quote text from requests and objects.
        return harmless(self.message)


@contextmanager
def explained(where: str = "") -> Iterator[None]:
    """Turns client errors into Failures. `where` describes how the server was found."""
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
        raise Failure(f"{error}{found}. Is the server still running? Check with `setpoint doctor`", NO_SERVER) from None


@contextmanager
def in_one_line() -> Iterator[None]:
    """Exits with code 130 on Ctrl-C. Turns unexpected errors into a one-line Failure, unless SETPOINT_DEBUG is set."""
    try:
        yield
    except (KeyboardInterrupt, click.Abort):
        if sys.stderr.isatty():
            from setpoint.cli.output.terminal import echo

            echo(err=True)  # ends the line with ^C
        raise SystemExit(INTERRUPTED) from None
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise  # handled by click
    except Exception as error:
        # Reports the first of several concurrent errors.
        first = _first(error)
        if os.environ.get("SETPOINT_DEBUG") or isinstance(first, click.ClickException):
            raise first from None
        raise Failure(
            f"internal error: {type(first).__name__}: {first}. Set SETPOINT_DEBUG=1 for a traceback"
        ) from None


def _first(error: Exception) -> Exception:
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def code_of(error: Exception) -> int:
    """Returns the exit code for an API error."""
    from setpoint.objects import errors

    codes: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
        ((errors.NotFound,), NOT_FOUND),
        ((errors.Timeout, errors.ServerTimeout), TIMED_OUT),
        ((errors.Unauthorized, errors.Forbidden), NOT_ALLOWED),
        ((errors.Conflict, errors.AlreadyExists), CONFLICT),
    )
    return next((code for kinds, code in codes if isinstance(error, kinds)), FAILED)
