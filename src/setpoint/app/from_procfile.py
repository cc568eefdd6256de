"""Reads a Procfile as an app, as foreman and honcho run it."""

from collections.abc import Mapping
from pathlib import Path

from setpoint.app.environment import DEFAULT_ENV_FILE, default_variables
from setpoint.app.model import AppFile
from setpoint.app.procfile_lines import lines, reads_port
from setpoint.app.reader import ReadApp, app_name
from setpoint.app.references import written
from setpoint.objects import typedyaml
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes

_FIRST_PORT, _STEP = 5000, 100


def read_procfile(file: Path, environ: Mapping[str, str]) -> ReadApp:
    """Returns the app of a Procfile. Each process gets a port as $PORT: 5000, 5100 and so on, or from $PORT of the
    environment or the file .env. Raises Mistakes, OSError or UnicodeDecodeError."""
    variables = default_variables(file.parent, environ)
    given = variables.get("PORT", "")
    first = int(given) if given.isdecimal() and 0 < int(given) <= 65535 else _FIRST_PORT
    has_env_file = (file.parent / DEFAULT_ENV_FILE).is_file()
    found = lines(file.read_text())
    if not found:
        raise Mistakes([Mistake(str(file), "", "no process: write a line such as `web: python app.py`")])
    services: Object = {}
    tasks: Object = {}
    places: dict[str, int] = {}
    for index, line in enumerate(found):
        name = app_name(line.name)
        if name in places:
            message = f"duplicate name {line.name}; rename this process"
            raise Mistakes([Mistake(f"{file}:{line.number}", line.name, message)])
        places[name] = line.number
        made: Object = {"run": written(line.command)}
        if has_env_file:
            made["env_file"] = DEFAULT_ENV_FILE
        if name == "release":
            tasks[name] = {**made, "auto": True}
            continue
        port = first + _STEP * index
        made["env"] = {"PORT": str(port)}
        if reads_port(line):
            made["ports"] = {"http": {"port": port, "proxy": False}}
        services[name] = {**made, **({"after": "release"} if any(each.name == "release" for each in found) else {})}
    tree = {"app": app_name(file.parent.name), "services": services, "tasks": tasks}

    def where(path: typedyaml.Path) -> str:
        number = places.get(str(path[1])) if len(path) > 1 else None
        return f"{file}:{number}" if number else str(file)

    app = typedyaml.convert({key: value for key, value in tree.items() if value}, AppFile, where)
    return ReadApp(app, file.parent, (file,), where, variables=variables)
