"""The environment of an app: variables, the contents of secret files, and objects in files. Read once, so that
rendering is a pure function."""

from collections.abc import Iterator, Mapping
from glob import glob
from pathlib import Path
from typing import NamedTuple

from setpoint.app import forms
from setpoint.app.faults import Fault, Where, nowhere, refuse
from setpoint.app.model import AppFile
from setpoint.client.manifests import load_yaml
from setpoint.objects import typedyaml
from setpoint.objects.tree import Object
from setpoint.workload import dotenv

DEFAULT_ENV_FILE = ".env"


class AppEnvironment(NamedTuple):
    """The environment of an app. `secrets` has the contents of files, by the names of the secrets."""

    directory: str
    variables: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}
    crds: tuple[Object, ...] = ()
    objects: tuple[Object, ...] = ()
    session: str = ""


def read_environment(
    app: AppFile,
    directory: Path,
    environ: Mapping[str, str],
    session: str = "",
    where: Where = nowhere,
    variables: Mapping[str, str] | None = None,
) -> AppEnvironment:
    """Reads the files that the app names. `variables` replace those of `environ` and the env files. Raises
    Mistakes."""
    found: list[Fault] = []
    made = AppEnvironment(
        str(directory),
        _variables(app, directory, environ, found) if variables is None else variables,
        _secrets(app, directory, found),
        tuple(_objects(app.crds, directory, ("crds",), found)),
        tuple(_objects(app.objects, directory, ("objects",), found)),
        session,
    )
    refuse(found, where)
    return made


def default_variables(directory: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables of the file .env, if there is one, overridden by the environment. Raises Mistakes."""
    found: list[Fault] = []
    variables = _variables(AppFile(), directory, environ, found)
    refuse(found)
    return variables


def _variables(app: AppFile, directory: Path, environ: Mapping[str, str], found: list[Fault]) -> dict[str, str]:
    """Returns the variables of the env files, overridden by the environment."""
    variables: dict[str, str] = {}
    for file in (DEFAULT_ENV_FILE,) if app.env_file is None else forms.many(app.env_file):
        try:
            variables |= dotenv.parse((directory / file).read_text(), {**variables, **environ})
        except FileNotFoundError:
            if app.env_file is not None:
                found.append((("env_file",), f"{file} does not exist; create the file, or remove this entry"))
        except (OSError, UnicodeDecodeError) as error:
            found.append((("env_file",), f"cannot read {file}: {error}"))
        except dotenv.DotenvError as error:
            found.append((("env_file",), f"{file}, {error}"))
    return {**variables, **environ}


def _secrets(app: AppFile, directory: Path, found: list[Fault]) -> dict[str, str]:
    secrets = {}
    for name, secret in app.secrets.items():
        if secret.file:
            try:
                secrets[name] = (directory / secret.file).expanduser().read_text().rstrip("\n")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a text file"
                found.append((("secrets", name, "file"), f"cannot read {secret.file}: {reason}"))
    return secrets


def _objects(patterns: tuple[str, ...], directory: Path, path: typedyaml.Path, found: list[Fault]) -> Iterator[Object]:
    for index, pattern in enumerate(patterns):
        files = sorted(glob(str(directory / pattern), recursive=True))
        if not files:
            found.append(((*path, index), f"no file matches {pattern} in {directory}"))
        for file in files:
            try:
                yield from load_yaml(file)
            except (OSError, ValueError) as error:
                found.append(((*path, index), str(error)))
