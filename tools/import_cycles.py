"""Counts the cycles among the modules of `setpoint`, imports for type checking included.

`python -m tools.import_cycles` prints every group of modules that import each other, the largest first, with the number
of those that remain where imports for type checking are left out. `--edges` adds the imports inside each group, those
for type checking with a `~`. An import of a package counts as one of its `__init__`. The exit code is 1 if there is a
cycle.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_SOURCE = Path(__file__).parent.parent / "src"
_ROOT = "setpoint"

Imports = dict[str, dict[str, bool]]
"""The modules that each module imports; true where the import is for type checking alone."""


def modules(source: Path = _SOURCE) -> dict[str, Path]:
    """Returns the files of all modules by their dotted names."""
    found = {}
    for path in sorted((source / _ROOT).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(files: Mapping[str, Path]) -> Imports:
    """Reads the imports of all modules, those inside functions included."""
    return {name: dict(_imports_of(path, files)) for name, path in files.items()}


def waits_for_own_package(files: Mapping[str, Path]) -> list[str]:
    """Returns the imports `from PACKAGE import module` in modules that PACKAGE itself imports.

    Such an import waits until another thread has imported the package. If that thread waits for this module, Python
    lets one of them go on with half a module. `import PACKAGE.module as module` does not wait.
    """
    graph = imports(files)
    found = []
    for name, path in files.items():
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ImportFrom) or not node.module or not name.startswith(f"{node.module}."):
                continue
            names = [alias.name for alias in node.names if f"{node.module}.{alias.name}" in files]
            if names and name in _reached(graph, node.module):
                found.append(f"{name}: from {node.module} import {', '.join(names)}")
    return found


def _reached(graph: Imports, start: str) -> set[str]:
    """Returns the modules that a module imports, directly or indirectly, at run time."""
    found: set[str] = set()
    left = [start]
    while left:
        for target, typing_only in graph.get(left.pop(), {}).items():
            if not typing_only and target not in found:
                found.add(target)
                left.append(target)
    return found


def _imports_of(path: Path, known: Mapping[str, Path]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for node, typing_only in _walk(ast.parse(path.read_text()), False):
        for target in _targets(node):
            parent = target.rpartition(".")[0]
            name = target if target in known else parent
            if name in known:
                found[name] = found.get(name, True) and typing_only
    return found


def _walk(node: ast.AST, typing_only: bool) -> Iterator[tuple[ast.AST, bool]]:
    yield node, typing_only
    for child in ast.iter_child_nodes(node):
        guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and child in node.body
        yield from _walk(child, typing_only or guarded)


def _targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Returns the strongly connected components of more than one module, the largest first (Tarjan)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for root in graph:
        if root in numbers:
            continue
        numbers[root] = lowest[root] = len(numbers)
        stack.append(root)
        work = [(root, iter(graph[root]))]
        while work:
            node, rest = work[-1]
            for target in rest:
                if target not in numbers:
                    numbers[target] = lowest[target] = len(numbers)
                    stack.append(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in stack:
                    lowest[node] = min(lowest[node], numbers[target])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == numbers[node]:
                    component: list[str] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                    if len(component) > 1:
                        found.append(sorted(component))
    return sorted(found, key=lambda component: (-len(component), component))


def main() -> int:
    graph = imports(modules())
    everything = cycles(graph)
    running = cycles(
        {name: [target for target, typing in found.items() if not typing] for name, found in graph.items()}
    )
    for component in everything:
        print(f"{len(component)} modules: {' '.join(component)}")
        if "--edges" in sys.argv:
            for module in component:
                found = graph[module]
                inside = [("~" if found[target] else "") + target for target in component if target in found]
                print(f"    {module} -> {' '.join(inside)}")
    print(
        f"{len(everything)} cycles of {sum(map(len, everything))} modules; without imports for type checking: ", end=""
    )
    print(f"{len(running)} cycles of {sum(map(len, running))} modules")
    return 1 if everything else 0


if __name__ == "__main__":
    sys.exit(main())
