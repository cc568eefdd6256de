"""Whatever an app file says, the answer is its objects or its mistakes, each with its place."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.app.apps import written

from setpoint.app.loader import load_app
from setpoint.app.model import AppFile, Service, Task
from setpoint.app.parts import Part, Probe, Restart, Watch
from setpoint.objects import yamltext
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes

# Texts that mean something somewhere, rightly or not.
WORDS = st.sampled_from(
    (
        "a", "b", "${port.http}", "${services.b.url}", "${services.a.env.X}", "${secret.x}", "${", "$$", "auto",
        "80:80", "/x", "tcp", "log:(", "log:x", "exec:'", "a | b 'c", "~", "./x:/y", "x:/y:ro", "1s", "ready", "done",
        "always", "${env.V:-d:e}", "{{", "", "\0", "@daily", "../x",
    )
)  # fmt: skip
LEAVES = st.one_of(
    WORDS,
    st.integers(-1, 70000),
    st.booleans(),
    st.none(),
    st.lists(WORDS, max_size=2),
    st.dictionaries(WORDS, WORDS, max_size=2),
)


def trees(*kinds: type[Part], inner: st.SearchStrategy[Any] = LEAVES) -> st.SearchStrategy[dict[str, Any]]:
    names = sorted({name for kind in kinds for name in kind.__struct_fields__})
    return st.dictionaries(st.sampled_from(names), inner, max_size=4)


SERVICES = st.builds(
    lambda tree, runs: {**tree, **runs},
    trees(Service, inner=st.one_of(LEAVES, trees(Probe, Restart, Watch))),
    st.sampled_from(({}, {"run": "x ${port.http}"}, {"image": "i"})),
)
APPS = st.builds(
    lambda rest, services, tasks: {**rest, "services": services, "tasks": tasks},
    trees(AppFile),
    st.dictionaries(st.sampled_from(["a", "b"]), SERVICES, max_size=2),
    st.dictionaries(st.sampled_from(["t", "u"]), trees(Task).map(lambda tree: {"run": "x", **tree}), max_size=2),
)


@settings(max_examples=60)
@given(APPS)
def test_an_app_file_is_rendered_or_its_mistakes_are_named(tree: dict[str, Any]) -> None:
    named: list[Mistake] = []
    objects: list[Object] = []
    with tempfile.TemporaryDirectory() as directory:
        file = written(Path(directory), yamltext.dump(tree))
        try:
            objects = load_app(file, {"X": "1", "PATH": "/bin"}).objects
        except Mistakes as mistakes:
            named = [*mistakes.found]
    assert all(each.where.startswith("setpoint.yaml") and each.message for each in named)
    assert all(each["metadata"]["name"] for each in objects)
