"""The recorded answers of a real API server to patches, as far as only the patch decides them.

Each scenario starts from the object it creates, then goes on from what the server answered. The server also defaults,
prunes and counts; so what our result says must be in its answer, and what our result removed must not.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.merge import jsonpatch, mergepatch, strategic
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Json, Object
from setpoint.schema import builtin

SCENARIOS = Path(__file__).parents[1] / "golden" / "scenarios"
# Scenarios that more than the patch decides: the server allocates and releases the addresses and ports of a Service,
# a patch of a scale changes the replicas of a Deployment, autoscalers are converted between versions, and a selfLink
# and the fields of features that are off are not stored.
BEYOND = {
    "crud-service-types",
    "patch-strategic-fractions",
    "patch-self-link-dry-run",
    "crud-autoscaler-annotations",
    "crud-dropped-and-defaulted",
    "crud-endpointslice-topology",
    "crud-taint-rule-fraction",
    "patch-duplicate-owners",
    "crud-duplicate-keys",
    "err-second-volume-type",
}
FILES = [
    file for file in sorted(SCENARIOS.glob("*/*.yaml")) if file.stem not in BEYOND and "patch+json" in file.read_text()
]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SCHEMAS = strategic.PatchSchemas(builtin.resolve)

# The refusals that only a patch can earn; all others come after it is applied.
OF_A_PATCH = re.compile(
    r"error decoding patch|an error in our request|Invalid JSON Patch|invalid patch format|unknown patch type|"
    r"merge key|list element types|ElementOrder|cannot yet be specified|maximum operations|^json: cannot unmarshal"
)
# What the server sets itself; what it puts back by default; what these scenarios send although no kind has it.
OF_THE_SERVER = {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "kind", "apiVersion"}
DEFAULTED = {"rollingUpdate", "strategy", "type", "replicas"}
UNKNOWN = {"x", "$patch", "$retainKeys", "stringData"}


def json_patch(before: Object, body: Json) -> Json:
    return jsonpatch.apply(before, jsonpatch.decode(body))


def strategic_merge(before: Object, body: Json) -> Json:
    name = builtin.kinds()[GroupVersionKind.of(before)]
    return strategic.merge(before, body, SCHEMAS[f"#/definitions/{name}"])


MEDIA_TYPES: dict[str, Callable[[Object, Json], Json]] = {
    "application/json-patch+json": json_patch,
    "application/merge-patch+json": mergepatch.apply,
    "application/strategic-merge-patch+json": strategic_merge,
}


def outcome(media_type: str, before: Object, body: Json) -> Json | APIError:
    try:
        return MEDIA_TYPES[media_type](before, body)
    except APIError as error:
        return error


def body_of(step: Object) -> Json:
    if "rawBody" not in step:
        return step["body"]
    text = re.sub(r"\{repeat:(\d+):(.*?):end\}", lambda found: found[2] * int(found[1]), step["rawBody"])
    return json.loads(text)


def differences(before: Any, ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Where the server's answer lacks what ours says, or still has what ours removed."""
    if type(ours) is dict and type(theirs) is dict:
        for key in ours.keys() | theirs.keys():
            if key in OF_THE_SERVER:
                continue
            was = before.get(key) if type(before) is dict else None
            if key not in theirs:
                if ours[key] not in (None, {}, []) and key not in UNKNOWN:
                    yield f"{path}.{key}: only ours: {ours[key]!r}"
            elif key in ours:
                yield from differences(was, ours[key], theirs[key], f"{path}.{key}")
            elif was is not None and was == theirs[key] and key not in DEFAULTED:
                yield f"{path}.{key}: ours removed it"
    elif type(ours) is list and type(theirs) is list and len(ours) == len(theirs):
        for position, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(None, mine, other, f"{path}[{position}]")
    elif ours != theirs and not (type(ours) is dict and theirs is None):
        yield f"{path}: ours {ours!r}, the server's {theirs!r}"


def whole(step: Object) -> bool:
    """Whether the recorded answer is the whole object."""
    answer = step.get("expect", {}).get("body")
    return type(answer) is dict and answer.get("kind") not in (None, "Status", "Table") and "select" not in step


def comparable(status: Object) -> Object:
    """A Status without the whole live object in its message: ours has no defaults. Where the real server blames itself,
    we blame the patch, and name the field."""
    message = status["message"].partition("[[")[0]
    if status["code"] == 500:
        return {"code": 400, "why": message}
    causes = status.get("details", {}).get("causes")
    if status["code"] == 400 and causes:
        [cause] = causes
        assert status["message"] == f"{cause['field']}: {cause['message']}"
        return {"code": 400, "why": cause["message"].partition("[[")[0]}
    return {**status, "message": message}


def clear(step: Object, before: Object) -> bool:
    """Whether the step is about a patch alone, not about what only a running server knows."""
    media_type = step["headers"]["Content-Type"]
    known = "strategic" not in media_type or GroupVersionKind.of(before) in builtin.kinds()
    body = str(step.get("body"))
    return known and media_type in MEDIA_TYPES and "{var:" not in body and "stringData" not in body


def replay(file: Path) -> int:
    """Compares our outcome of each patch with the recorded one; returns how many there were to compare."""
    live: dict[str, Object] = {}
    compared = 0
    for step in yaml.load(file.read_text(), Loader=LOADER)["steps"]:
        method, path, expected = step.get("method"), step.get("path", ""), step.get("expect", {})
        answer = expected.get("body")
        if method == "POST" and expected.get("status") == 201 and "body" in step:
            live[f"{path}/{step['body'].get('metadata', {}).get('name')}"] = answer or step["body"]
        elif method == "GET" and path in live and whole(step):
            live[path] = answer
        elif method == "PATCH" and path in live and clear(step, live[path]):
            compared += 1
            compare(step, live)
        elif method in ("PUT", "PATCH", "DELETE"):
            live.pop(path, None)
    return compared


def compare(step: Object, live: dict[str, Object]) -> None:
    path, answer = step["path"], step["expect"].get("body")
    before = live[path]
    ours = outcome(step["headers"]["Content-Type"], before, body_of(step))
    if isinstance(ours, APIError):
        assert comparable(ours.to_status()) == comparable(answer)
    elif step["expect"]["status"] != 200:
        assert not OF_A_PATCH.search(answer["message"]), answer["message"]
    elif whole(step):
        ignored: Object = {} if path.endswith("/status") else {"status": {}}
        assert list(differences(before, {**ours, **ignored}, {**answer, **ignored})) == []
        live[path] = answer
    else:
        del live[path]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_patches_as_the_real_server_does(file: Path) -> None:
    replay(file)


def test_there_is_much_to_compare() -> None:
    assert sum(replay(file) for file in FILES if file.parent.name == "patch") > 80
