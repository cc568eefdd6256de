"""The plainest YAML: whatever is read of it is what all of YAML makes of it, and nothing is read otherwise."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import plainyaml, yamltext
from setpoint.objects.errors import BadRequest
from setpoint.server.edge.kubeconfig import kubeconfig

WORDS = ["a", "https://h:1/x", "LS0tLS1CRUdJTg==", "/etc/ca.crt", "0x1f", "8h3k", "12", "1e5", "yes", "Null", "true"]
WORDS += ["_1", "__", "-a", "--", "---a", "-_1", "-1", "-0x1f", "-1_0", "-8h3k", "-.inf"]
WORDS += ["n", "~", "a:", "a: b", "- a", "#c", "'q'", '"q"', "x #y", "{}", "[]", "{a: b}", "&x a", "*x", "|", "!!str 1"]
PIECES = [
    "a: b",
    "a:",
    "b:",
    "c: 0x1g",
    "- ",
    "-",
    "- a: b",
    "- - a",
    "  ",
    "    ",
    "# c",
    "---",
    "...",
    "",
    "a",
    "true: a",
]

trees = st.recursive(
    st.sampled_from(WORDS) | st.booleans() | st.text("abcxyz0189-_.:/=+@ ", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b-c", "on", "x.y"]), inner),
    max_leaves=12,
)
texts = st.lists(st.lists(st.sampled_from(PIECES + WORDS), max_size=3).map("".join), max_size=8).map("\n".join)


@given(trees)
def test_what_is_read_of_a_written_tree_is_the_tree(tree: Any) -> None:
    assert plainyaml.read(yamltext.dump(tree)) in (tree, None)


@given(texts)
def test_what_is_read_of_any_text_is_what_all_of_yaml_reads(text: str) -> None:
    found = plainyaml.read(text)
    if found is not None:
        [document] = yamltext.load_all(text)
        assert document == (found, ())


@pytest.mark.parametrize(
    "text", ["a: b\na: c", "a: 12", "a: yes", "a: 'b'", "a:\nb: c", "- a\n-\n- b", "a\nb", "", "a: b\n\tc: d"]
)
def test_what_may_mean_something_else_is_left_to_all_of_yaml(text: str) -> None:
    assert plainyaml.read(text) is None


def test_a_text_that_is_no_yaml_is_not_read() -> None:
    text = "a: b: c"
    with pytest.raises(BadRequest):
        yamltext.load(text)
    assert plainyaml.read(text) is None


@pytest.mark.parametrize("token", ["abcdefgh", "0123456789mnop", "Zm9v-bar_baz", "_0k", "-_a", "-x1", "--3k"])
def test_the_kubeconfigs_that_we_write_are_plain(token: str) -> None:
    text = kubeconfig("https://127.0.0.1:6443", authority=b"PEM" * 200, token=token)
    found = plainyaml.read(text)
    assert found is not None
    assert found == yamltext.load(text).tree


def test_what_go_programs_write_is_plain() -> None:
    text = """apiVersion: v1
clusters:
- cluster:
    extensions:
    - extension:
        provider: minikube.sigs.k8s.io
      name: cluster_info
    server: https://192.168.49.2:8443
  name: minikube
preferences: {}
users:
- name: jane
  user:
    exec:
      args:
      - get-token
      - -v
      command: aws
      provideClusterInfo: false
"""
    assert plainyaml.read(text) == yamltext.load(text).tree
