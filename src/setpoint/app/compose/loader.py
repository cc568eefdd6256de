"""Loads Compose files to one tree: variables, includes, extended services and overrides."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from setpoint.app.compose import defaults, schema
from setpoint.app.compose.aliases import promote
from setpoint.app.compose.documents import Document, Path, documents
from setpoint.app.compose.dotenv import DotenvError, parse
from setpoint.app.compose.interpolation import Interpolation, mark_references
from setpoint.app.compose.local_paths import LocalPaths, join
from setpoint.app.compose.merging import Merger
from setpoint.app.compose.project import ComposeError, Problem, Reader
from setpoint.app.compose.short_forms import LongForms
from setpoint.app.compose.tree import NOWHERE, Map, Place, Seq, clone, items_of, place_of
from setpoint.app.compose.unicity import enforce

_SECTIONS = ("services", "jobs", "volumes", "networks", "secrets", "configs", "models")
_MAX_FILES = 500


class Loader:
    """Reads files with all files that they refer to. Problems and warnings are collected."""

    def __init__(self, read: Reader, home: str, *, interpolate: bool) -> None:
        self._read = read
        self._home = home
        self._interpolate = interpolate
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        # All files that were read, with their texts.
        self.files: dict[str, str] = {}
        # The documents of files that are parsed and not yet loaded.
        self._parsed: dict[str, list[Document]] = {}

    def parsed(self, file: str) -> list[Document]:
        """Returns the documents of a file that has to exist; the documents must not be changed. Raises ComposeError."""
        if file not in self._parsed:
            self._parsed[file] = list(documents(self.text(file), file))
        return self._parsed[file]

    def text(self, file: str, place: Place = NOWHERE, path: str = "") -> str:
        """Returns the text of a file that has to exist. Raises ComposeError."""
        found = self.optional_text(file, place, path)
        if found is None:
            raise self._fault(file, place, path, "the file does not exist; create the file, or correct its name")
        return found

    def optional_text(self, file: str, place: Place = NOWHERE, path: str = "") -> str | None:
        """Returns the text of a file, or None if there is no such file. Raises ComposeError."""
        if file not in self.files:
            try:
                found = self._read(file)
            except UnicodeDecodeError:
                raise self._fault(file, place, path, "the file is not valid UTF-8; convert the file") from None
            except OSError as error:
                raise self._fault(file, place, path, f"cannot read the file: {error.strerror or error}") from None
            if found is None:
                return None
            if len(self.files) >= _MAX_FILES:
                raise self._fault(file, place, path, f"the project has more than {_MAX_FILES} files; include fewer")
            self.files[file] = found
        return self.files[file]

    def variables(self, files: Sequence[str], outer: Mapping[str, str]) -> dict[str, str]:
        """Returns the variables of files that have to exist. Raises ComposeError."""
        made: dict[str, str] = {}
        for file in files:
            self.parse_variables(file, self.text(file), made, outer)
        return made

    def parse_variables(self, file: str, text: str, into: dict[str, str], outer: Mapping[str, str]) -> None:
        """Adds the variables of a file. Raises ComposeError."""

        def unset(name: str) -> None:
            self.warnings.append(Problem(file, 0, 0, "", f"the variable {name} is not set; set {name}"))

        try:
            parse(text, into, lambda name: outer.get(name, into.get(name)), unset)
        except DotenvError as error:
            raise ComposeError([Problem(file, error.line, 1, "", str(error))]) from None

    def load(
        self,
        files: Sequence[str],
        directory: str,
        environment: Mapping[str, str],
        included: Path = (),
        base: str | None = None,
    ) -> Map:
        """Returns the tree of the files, of which later ones override earlier ones. Raises ComposeError.

        Paths in the tree begin with `base`, by default the directory. An included project has paths relative to the
        including one until both are merged, because equal paths of both are one entry of a list.
        """
        tree = Map()
        extended = _Extended(self, directory, environment)
        for file in files:
            for document in self._taken(file):
                tree = self._merged(tree, document, file, _Scope(directory, environment, (*included, file)), extended)
                self.stop()
        defaults.add_defaults(tree)
        self.problems += defaults.check(tree)
        self.stop()
        LocalPaths(directory if base is None else base, self._home).resolve(tree)
        if self._interpolate:
            _resolve_lists(tree, environment)
        return tree

    def _taken(self, file: str) -> list[Document]:
        """Returns the documents of a file, which are changed when they are loaded."""
        found = self.parsed(file)
        del self._parsed[file]
        return found

    def stop(self) -> None:
        """Raises ComposeError if there are problems."""
        if self.problems:
            raise ComposeError(self.problems)

    def prepared(self, document: Document, file: str, environment: Mapping[str, str]) -> Map:
        """Returns the tree of a document with the values of its variables. Raises ComposeError."""
        tree = document.tree
        if not isinstance(tree, Map):
            raise ComposeError([Problem(file, 1, 1, "", "the file is not a mapping; begin with services:")])
        if self._interpolate:
            Interpolation(environment.get, self.problems, self.warnings).tree(tree)
        else:
            mark_references(tree)
        promote(tree, Merger(self.problems))
        return tree

    def canonical(self, tree: Map) -> None:
        """Converts the short forms of a tree and removes repeated entries, in place."""
        LongForms(self.problems).convert(tree)
        for service in _containers(tree):
            if isinstance(service.get("dns"), list):
                kept = [(each, place) for each, place in items_of(service["dns"]) if each not in (None, "")]
                service["dns"] = Seq([each for each, _ in kept], [place for _, place in kept])
        enforce(tree, self.problems)

    def relative_to(self, tree: Map, directory: str) -> None:
        """Makes the paths of a tree begin with the directory, in place."""
        LocalPaths(directory, self._home).resolve(tree)

    def _merged(self, base: Map, document: Document, file: str, scope: "_Scope", extended: "_Extended") -> Map:
        own = self.prepared(document, file, scope.environment)
        self._include(own, scope, document)
        remove(base, document.replaced)
        extended.apply(own, file, document)
        if self.problems:
            # The schema finds the problems of other values; values with a known problem are not reported twice.
            known = {each.path for each in self.problems}
            self.problems += [each for each in schema.check(own, file) if each.path not in known]
            self.stop()
        tree: Map = Merger(self.problems).merge(base, own)
        self.stop()
        enforce(tree, [])
        self.problems += schema.check(tree, file)
        self.stop()
        if "version" in tree:
            place = place_of(tree, "version")
            text = "the attribute version is obsolete and has no effect; remove the line"
            self.warnings.append(Problem(*place, "version", text))
            del tree["version"]
        self.canonical(tree)
        return tree

    def _include(self, tree: Map, scope: "_Scope", document: Document) -> None:
        value = tree.pop("include", None)
        if value is None:
            return
        if not isinstance(value, list):
            raise ComposeError([Problem(*place_of(tree, "include"), "include", "include is not a list; write a list")])
        for index, (entry, place) in enumerate(items_of(value)):
            self._import(tree, self._included(entry, place, index, scope), document)

    def _included(self, entry: Any, place: Place, index: int, scope: "_Scope") -> Map:
        path = f"include[{index}]"
        fields = {"path": entry} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
        files = _texts(fields.get("path"))
        env_files, given = _texts(fields.get("env_file", [])), fields.get("project_directory") or ""
        known = ("path", "env_file", "project_directory")
        unknown = [key for key in fields if key not in known and not key.startswith("x-")]
        if not files or env_files is None or not isinstance(given, str) or unknown:
            text = "the entry has the wrong form; write a path, or path, project_directory and env_file"
            raise ComposeError([Problem(*place, path, text)])
        files = [join(scope.directory, file) for file in files]
        if files[0] in scope.included:
            raise ComposeError([Problem(*place, path, "the file includes itself; remove this entry")])
        directory = join(scope.directory, given) if given else posixpath.dirname(files[0])
        if env_files:
            names = [join(scope.directory, file) for file in env_files if file != "/dev/null"]
        else:
            default = posixpath.join(directory, ".env")
            names = [default] if self.optional_text(default, place, path) is not None else []
        for file in (*names, *files):
            self.text(file, place, path)
        environment = {**self.variables(names, scope.environment), **scope.environment}
        base = directory if given.startswith("/") else posixpath.relpath(directory, scope.directory)
        return self.load(files, directory, environment, scope.included, base)

    def _import(self, tree: Map, other: Map, document: Document) -> None:
        """Adds the resources of an included file; those of the including file take precedence."""
        for section in _SECTIONS:
            found = other.get(section)
            if not found:
                continue
            mine = tree.get(section)
            if section not in tree:
                mine = Map()
                tree.put(section, mine, other.places.get(section))
            if not isinstance(mine, Map):
                text = f"{section} is not a mapping; add an entry, or remove the key"
                raise ComposeError([Problem(*place_of(tree, section), section, text)])
            for name, value in found.items():
                if name not in mine:
                    mine.put(name, value, found.places.get(name))
                elif mine[name] != value:
                    remove({section: {name: value}}, document.replaced)
                    mine[name] = Merger(self.problems).merge(value, mine[name], (section, name))

    def _fault(self, file: str, place: Place, path: str, text: str) -> ComposeError:
        return ComposeError([Problem(*place, path, f"{file}: {text}") if place[1] else Problem(file, 0, 0, path, text)])


class _Scope:
    """The directory and the variables of the files of one project, and the files that are being included."""

    def __init__(self, directory: str, environment: Mapping[str, str], included: Path) -> None:
        self.directory = directory
        self.environment = environment
        self.included = included


class _Extended:
    """Applies `extends`: a service takes the attributes of another one, of the same or another file."""

    def __init__(self, loader: Loader, directory: str, environment: Mapping[str, str]) -> None:
        self._loader = loader
        self._directory = directory
        self._environment = environment
        self._files: dict[str, tuple[Map, Document]] = {}

    def apply(self, tree: Map, file: str, document: Document) -> None:
        """Completes the services of a file, in place."""
        for section in ("services", "jobs"):
            services = tree.get(section, {})
            if not isinstance(services, dict):
                text = f"{section} is not a mapping; add an entry, or remove the key"
                self._report(place_of(tree, section), section, text)
                continue
            for name in services:
                services[name] = self._service(name, services, file, document, ())

    def _service(
        self, name: str, services: Any, file: str, document: Document, chain: tuple[tuple[str, str], ...]
    ) -> Any:
        service = services[name]
        if not isinstance(service, dict) or "extends" not in service:
            return service
        place, path = place_of(service, "extends"), f"services.{name}.extends"
        given = service["extends"]
        target = given if isinstance(given, str) else given.get("service") if isinstance(given, dict) else None
        other = given.get("file") if isinstance(given, dict) else None
        if not isinstance(target, str) or not isinstance(other, str | None):
            self._report(place, path, "extends names no service; write the name of a service")
            return service
        base_file, base_services, base_document = file, services, document
        if other is not None:
            base_file = self._path(other)
            base_services, base_document = self._file(base_file, place, path)
        if target not in base_services:
            text = f"{base_file} has no service {target}; correct the name"
            self._report(place, path, text)
            return service
        if (base_file, target) in (*chain, (file, name)):
            self._report(place, path, f"the service {target} extends itself; remove this key")
            return service
        base = self._service(target, base_services, base_file, base_document, (*chain, (file, name)))
        if base is None:
            return service
        source = clone(base)
        remove({"services": {name: source}}, document.replaced)
        merged = Merger(self._loader.problems).merge(source, service, ("services", name))
        merged.pop("extends", None)
        services[name] = merged
        return merged

    def _path(self, file: str) -> str:
        return join(self._directory, file)

    def _file(self, file: str, place: Place, path: str) -> tuple[Any, Document]:
        """Returns the services of another file, in their long forms."""
        if file not in self._files:
            tree, document = Map(), Document(None, ())
            for document in documents(self._loader.text(file, place, path), file):
                prepared = self._loader.prepared(document, file, self._environment)
                remove(tree, document.replaced)
                tree = Merger(self._loader.problems).merge(tree, prepared)
                enforce(tree, [])
                self._loader.canonical(tree)
            # Relative to the project, so that equal paths of both services are one entry of a list.
            self._loader.relative_to(tree, posixpath.relpath(posixpath.dirname(file), self._directory))
            self._files[file] = (tree, document)
        tree, document = self._files[file]
        services = tree.get("services")
        return clone(services) if isinstance(services, dict) else Map(), document

    def _report(self, place: Place, path: str, text: str) -> None:
        self._loader.problems.append(Problem(*place, path, text))


def remove(tree: Any, paths: Sequence[Path]) -> None:
    """Removes the values at the paths, in place."""
    for path in paths:
        value: Any = tree
        for part in path[:-1]:
            value = value.get(part) if isinstance(value, dict) else None
        if path and isinstance(value, dict):
            value.pop(path[-1], None)


def _texts(value: Any) -> Any:
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, list) and all(isinstance(each, str) for each in value) else None


def _resolve_lists(tree: Map, environment: Mapping[str, str]) -> None:
    """Adds the values of variables in lists that take theirs from the environment."""
    for service in _containers(tree):
        entries = service.get("environment")
        if isinstance(entries, list):
            for index, name in enumerate(entries):
                if isinstance(name, str) and name in environment:
                    entries[index] = f"{name}={environment[name]}"


def _containers(tree: Map) -> Iterator[Any]:
    """Yields the services and jobs of a tree that may be invalid."""
    for section in ("services", "jobs"):
        found = tree.get(section)
        if isinstance(found, dict):
            yield from (each for each in found.values() if isinstance(each, dict))
