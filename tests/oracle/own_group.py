"""Documents of ours without metrics.k8s.io, which kube-apiserver itself does not serve (decision 0096)."""

from typing import Any

import msgspec
from tests.oracle.wire import Answer

GROUP = "metrics.k8s.io"
_PATH = f"apis/{GROUP}"
_DEFINITION = "io.k8s.metrics."


def without_own_group(answer: Answer) -> Answer:
    """Returns a document without the entries of the group; all other answers unchanged."""
    if GROUP.encode() not in answer.body or not answer.body.startswith(b"{"):
        return answer
    tree = msgspec.json.decode(answer.body)
    for name, value in tree.items():
        if name in ("paths", "definitions") and isinstance(value, dict):
            tree[name] = {key: each for key, each in value.items() if not _is_own(key)}
        elif name == "paths" and isinstance(value, list):
            tree[name] = [each for each in value if not _is_own(each)]
        elif name in ("groups", "items"):
            tree[name] = [each for each in value if _group(each) != GROUP]
    return answer._replace(body=msgspec.json.encode(tree))


def _is_own(name: str) -> bool:
    return name.strip("/").startswith(_PATH) or name.startswith(_DEFINITION)


def _group(entry: Any) -> str:
    return str(entry.get("name") or entry.get("metadata", {}).get("name") or "")
