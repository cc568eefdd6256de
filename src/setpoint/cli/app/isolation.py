"""`setpoint up --isolated`: a second copy of an app, with its own name, ports, volumes and networks."""

from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.terminal import terminal
from setpoint.cli.support.errors import USAGE, Failure

if TYPE_CHECKING:
    from setpoint.app.isolation import MovedPort
    from setpoint.app.loader import LoadedApp
    from setpoint.app.model import AppFile

_OPTION = "--isolated"


class IsolatedCommand(click.Command):
    """A command with the option --isolated, with an optional value after an equals sign."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        given = [f"{_OPTION}=" if each == _OPTION else each for each in args[:end]]
        return super().parse_args(ctx, [*given, *args[end:]])


class Isolation:
    """The isolated copy of the app of one file. The copy is named after the directory unless a name is given."""

    def __init__(self, name: str, file: Path, environ: Mapping[str, str]) -> None:
        from setpoint.objects.names import dns1123_label

        self._file, self._directory, self._environ = file, file.parent, environ
        for message in dns1123_label(name) if name else ():
            raise Failure(f"--isolated: invalid name {name!r}: {message}", USAGE)
        # Copies with the same name in two directories must not share volumes either.
        place = sha256(f"isolated {file.parent}".encode()).hexdigest()[:4]
        self._suffix = f"{name}-{place}" if name else place
        self._ports: dict[int, int] = {}
        self._remembered = Path()
        self.app = self.original = ""
        self.moved: list[MovedPort] = []

    def read(self, profiles: Collection[str], names: Collection[str]) -> "LoadedApp":
        """Reads the file as an isolated app, with the profiles of the named parts enabled. Raises Failure."""
        from setpoint.cli.app.app_file import read_file

        return read_file(self._file, self._environ, profiles, names=names, change=self._changed)

    def _changed(self, app: "AppFile") -> "AppFile":
        """Returns the isolated app. An app with mistakes is returned with the new name only. Raises OSError."""
        from msgspec.structs import replace

        from setpoint.app.isolation import fixed_ports, isolated, isolated_name
        from setpoint.session.isolated_ports import choose_ports
        from setpoint.session.paths import Places
        from setpoint.session.registry import session_id
        from setpoint.session.startup import running

        self.app, self.original = isolated_name(app.app, self._suffix), app.app
        places = Places.of(self._environ, session_id(self.app, str(self._directory)))
        try:
            fixed = [each.number for each in fixed_ports(app)]
        except ValueError:
            return replace(app, app=self.app)
        is_running = running(self.app, self._directory, self._environ) is not None
        self._remembered = places.isolated_ports
        # The file may be read twice: the ports of the first time stay.
        self._ports = self._ports or choose_ports(self._remembered, fixed, running=is_running)
        made, self.moved = isolated(app, self._suffix, self._ports)
        return made

    def settle(self) -> None:
        """Remembers the chosen ports for the next start, and prints them. Raises OSError."""
        from setpoint.cli.output.table import render
        from setpoint.session.isolated_ports import remember_ports

        remember_ports(self._remembered, self._ports)
        place = terminal()
        place.echo(f"isolated as {self.app} · if several copies run here, select this one with --session {self.app}")
        if not self.moved:
            return
        headers = ("SERVICE", "PORT", "FILE", "HERE")
        rows = [[each.fixed.service, each.fixed.port, str(each.fixed.number), str(each.number)] for each in self.moved]
        place.echo("\n".join(render(headers, rows, place)))
        for each in self.moved:
            if each.by_variable:
                place.echo(
                    f"{each.fixed.service} gets its port as $PORT; if the program ignores $PORT, use "
                    f"${{port.{each.fixed.port}}} in its command"
                )


def isolated_copy(app: str, file: Path, environ: Mapping[str, str]) -> str:
    """Returns the name of a running isolated copy of an app that is not running itself, or an empty string."""
    from setpoint.session.registry import Sessions

    here = [session for session in Sessions.of(environ).alive() if session.file == str(file)]
    copies = [session.app for session in here if session.isolated_from == app]
    return "" if any(session.app == app for session in here) else next(iter(copies), "")
