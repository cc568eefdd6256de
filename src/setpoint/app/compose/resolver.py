"""Resolves Compose files, environment and profiles to a project."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from setpoint.app.compose import consistency, shapes
from setpoint.app.compose.gotexts import plain_tree
from setpoint.app.compose.interpolation import Interpolation, to_boolean
from setpoint.app.compose.loader import Loader
from setpoint.app.compose.normalization import normalize
from setpoint.app.compose.project import ComposeError, Problem, Project, Reader
from setpoint.app.compose.service_files import ServiceFiles
from setpoint.app.compose.tree import Map, Place, locate, path_text, place_of
from setpoint.app.compose.values import Convert, NestedError
from setpoint.objects.tree import Object

_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_OVERRIDES = (
    "compose.override.yml",
    "compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
)
_RESOURCES: Mapping[str, Convert] = {
    "networks": shapes.NETWORK,
    "volumes": shapes.VOLUME,
    "secrets": shapes.SECRET,
    "configs": shapes.CONFIG,
    "models": shapes.MODEL,
}
_NOT_IN_NAME = re.compile(r"[^a-z0-9_-]")


def default_files(directory: Path, read: Reader) -> tuple[str, ...]:
    """Returns the Compose file of the directory or of its nearest parent that has one, and its override file."""
    for place in (directory, *directory.parents):
        for name in _NAMES:
            if read(str(place / name)) is not None:
                override = next((each for each in _OVERRIDES if read(str(place / each)) is not None), None)
                return (str(place / name), *([str(place / override)] if override else []))
    return ()


def resolve(
    files: Sequence[str],
    *,
    directory: Path,
    read: Reader,
    environ: Mapping[str, str],
    profiles: Collection[str] = (),
    env_files: Sequence[str] = (),
    name: str = "",
    interpolate: bool = True,
) -> Project:
    """Resolves the files as `docker compose config` does. Raises ComposeError with all problems.

    Without `files`, COMPOSE_FILE and then the default names in the directory and its parents are used. Names of files
    are relative to `directory`; relative paths inside the files are relative to the directory of the first file. With
    `interpolate=False` references to variables stay in the texts, variables without a value stay empty, and files of
    variables stay in `env_file`.
    """
    loader = Loader(read, environ.get("HOME", ""), interpolate=interpolate)
    environment = dict(environ)
    names = list(env_files) or [each for each in environ.get("COMPOSE_ENV_FILES", "").split(",") if each]
    variable_files = [str(directory / each) for each in names]
    paths = [str(directory / each) for each in files]
    _add_variables(loader, environment, variable_files, Path(paths[0]).parent if paths else directory)
    if not paths and "COMPOSE_FILE" in environment:
        separator = environment.get("COMPOSE_PATH_SEPARATOR") or ":"
        paths = [str(directory / each) for each in environment["COMPOSE_FILE"].split(separator)]
    paths = paths or list(default_files(directory, read))
    if not paths:
        text = f"there is no Compose file; create {_NAMES[0]}"
        raise ComposeError([Problem(str(directory), 0, 0, "", text)])
    root = Path(paths[0]).parent
    _add_variables(loader, environment, variable_files, root)
    return _Resolution(loader, paths, root, environment, interpolate).project(profiles, name)


def _add_variables(loader: Loader, environment: dict[str, str], files: Sequence[str], directory: Path) -> None:
    """Adds the variables of the given files, or of `.env` in the directory. The environment takes precedence."""
    if not files:
        if _is_true(environment.get("COMPOSE_DISABLE_ENV_FILE", "")):
            return
        default = str(directory / ".env")
        files = [default] if loader.optional_text(default) is not None else []
    environment.update({**loader.variables(files, environment), **environment})


def _is_true(text: str) -> bool:
    try:
        return text in ("1", "t", "T") or to_boolean(text)
    except ValueError:
        return False


class _Resolution:
    """The steps from the files to the project."""

    def __init__(
        self, loader: Loader, files: Sequence[str], directory: Path, environment: dict[str, str], interpolate: bool
    ) -> None:
        self._loader = loader
        self._files = files
        self._directory = directory
        self._environment = environment
        self._interpolate = interpolate
        self._tree = Map()

    def project(self, profiles: Collection[str], name: str) -> Project:
        loader, environment = self._loader, self._environment
        name = self._name(name)
        environment["COMPOSE_PROJECT_NAME"] = name
        self._tree = tree = loader.load(self._files, str(self._directory), environment)
        if not tree:
            raise ComposeError([Problem(self._files[0], 1, 1, "", "the file is empty; begin with services:")])
        normalize(tree, name, environment if self._interpolate else None, loader.problems)
        services = self._converted("services", shapes.SERVICE)
        jobs = self._converted("jobs", shapes.JOB)
        resources = {section: self._converted(section, shape) for section, shape in _RESOURCES.items()}
        loader.stop()
        given = map(str.strip, environment.get("COMPOSE_PROFILES", "").split(","))
        wanted = tuple(profiles) or tuple(filter(None, given))
        enabled, disabled = _split(services, wanted)
        parts = consistency.Parts(enabled, disabled, *_split(jobs, wanted), resources)
        for path, text in consistency.faults(parts):
            self._report(path, text)
        completed = ServiceFiles(loader, environment, self._place)
        for each, service in enabled.items():
            _agree_on_scale(service)
            if self._interpolate:
                completed.complete(each, service)
        loader.stop()
        extensions = {key: plain_tree(value) for key, value in tree.items() if key.startswith("x-")}
        return Project(
            name,
            enabled,
            disabled,
            wanted,
            **resources,
            jobs=parts.jobs,
            extensions=extensions,
            files=tuple(loader.files),
            environment=environment,
            warnings=tuple(dict.fromkeys(loader.warnings)),
            locate=self._place,
        )

    def _place(self, parts: Sequence[str | int]) -> Place:
        return locate(self._tree, (self._files[0], 1, 1))(parts)

    def _report(self, path: Sequence[str | int], text: str) -> None:
        self._loader.problems.append(Problem(*self._place(path), path_text(path), text))

    def _converted(self, section: str, shape: Convert) -> dict[str, Object]:
        made: dict[str, Object] = {}
        for name, value in (self._tree.get(section) or {}).items():
            try:
                made[name] = shape(value)
            except NestedError as nested:
                self._report((section, name, *nested.path), str(nested))
        return made

    def _name(self, given: str) -> str:
        """Returns the name of the project: the given one, of the environment, of the files, or of the directory."""
        explicit = given or self._environment.get("COMPOSE_PROJECT_NAME", "")
        if explicit:
            if normalized_name(explicit) != explicit:
                text = f"the name {explicit!r} of the project is not valid; use a-z, 0-9, '_' and '-'"
                raise ComposeError([Problem(self._files[0], 0, 0, "name", text)])
            return explicit
        written, place = self._written_name()
        if not written:
            written = self._directory.name
        elif self._interpolate:
            problems: list[Problem] = []
            written = Interpolation(self._environment.get, problems, []).text(written, ("name",), place)
            if problems:
                raise ComposeError(problems)
        name = normalized_name(written)
        if not name:
            text = "the name of the project is empty; set name to a text of a-z, 0-9, '_' and '-'"
            raise ComposeError([Problem(*place, "name", text)])
        return name

    def _written_name(self) -> tuple[str, Place]:
        found: tuple[str, Place] = "", (self._files[0], 1, 1)
        for file in self._files:
            for document in self._loader.parsed(file):
                name: Any = document.tree.get("name") if isinstance(document.tree, Map) else None
                if isinstance(name, str) and name:
                    found = name, place_of(document.tree, "name")
        return found


def normalized_name(text: str) -> str:
    """Returns a text as the name of a project: lower case, without characters that are not allowed."""
    return _NOT_IN_NAME.sub("", text.lower()).lstrip("_-")


def _split(parts: dict[str, Object], profiles: Sequence[str]) -> tuple[dict[str, Object], dict[str, Object]]:
    """Splits services to those that the profiles enable, and all others."""
    enabled: dict[str, Object] = {}
    disabled: dict[str, Object] = {}
    for name, part in parts.items():
        own = part.get("profiles")
        is_enabled = not own or "*" in profiles or any(each in own for each in profiles)
        (enabled if is_enabled else disabled)[name] = part
    return enabled, disabled


def _agree_on_scale(service: Object) -> None:
    if "scale" in service and "deploy" in service:
        service["deploy"]["replicas"] = service["scale"]
