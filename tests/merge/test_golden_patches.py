"""The recorded answers of a real API server to patches, as far as only the patch decides them.

Each scenario starts from the object it creates, then goes on from what the server answered. The server also defaults,
prunes and counts; so what our result says must be in its answer, and what our result removed must not.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.merge import jsonpatch, mergepatch, strategic
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Json, Object
from setpoint.schema import builtin

SCENARIOS = Path(__file__).parents[2].parent / "shared" / "golden" / "scenarios" / "patch"
FILES = sorted(SCENARIOS.glob("*.yaml"))
SCHEMAS = strategic.PatchSchemas(builtin.resolve)

# The server refuses these after the patch is applied: the result does not decode, or breaks a rule of its kind.
LATER = re.compile(
    r" is invalid: |the name of the object|the namespace of the|does not match|cannot be handled as|"
    r"Operation cannot be fulfilled|not found$|metadata\.|must be specified|media types include"
)
# What the server sets itself; what it puts back by default; what these scenarios send although no kind has it.
OF_THE_SERVER = {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "kind", "apiVersion"}
DEFAULTED = {"rollingUpdate", "strategy", "type", "replicas"}
UNKNOWN = {"x", "$patch", "$retainKeys", "stringData"}

pytestmark = pytest.mark.skipif(not FILES, reason="the recorded scenarios are not beside this checkout")


def patch(media_type: str, before: Object, body: Json) -> Json:
    match media_type:
        case "application/json-patch+json":
            return jsonpatch.apply(before, jsonpatch.decode(body))
        case "application/merge-patch+json":
            return mergepatch.apply(before, body)
        case "application/strategic-merge-patch+json":
            name = builtin.kinds()[GroupVersionKind.of(before)]
            return strategic.merge(before, body, SCHEMAS[f"#/definitions/{name}"])
    raise AssertionError(media_type)


def outcome(media_type: str, before: Object, body: Json) -> Json | APIError:
    try:
        return patch(media_type, before, body)
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


def comparable(status: Object) -> Object:
    """A Status without the whole live object in its message: ours has no defaults."""
    return {**status, "message": status["message"].partition("[[")[0]}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_patches_as_the_real_server_does(file: Path) -> None:
    live: dict[str, Object] = {}
    for step in yaml.safe_load(file.read_text())["steps"]:
        expected = step.get("expect", {})
        answer = expected.get("body")
        path = step.get("path", "")
        if step.get("method") == "POST" and expected.get("status") == 201:
            live[f"{path}/{step['body']['metadata'].get('name')}"] = answer or step["body"]
        elif step.get("method") == "PATCH" and path in live:
            media_type = step["headers"]["Content-Type"]
            before = live[path]
            known = GroupVersionKind.of(before) in builtin.kinds()
            if media_type == "application/apply-patch+yaml" or ("strategic" in media_type and not known):
                continue
            ours = outcome(media_type, before, body_of(step))
            if isinstance(ours, APIError):
                assert comparable(ours.to_status()) == comparable(answer)
            elif expected["status"] != 200:
                assert LATER.search(answer["message"]), answer["message"]
            elif "select" not in step and type(answer) is dict:
                ignored: Object = {} if path.endswith("/status") else {"status": {}}
                assert list(differences(before, {**ours, **ignored}, {**answer, **ignored})) == []
                live[path] = answer
