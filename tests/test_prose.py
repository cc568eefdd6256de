"""The prose tool counts the texts that users and developers read, and reports packages that become vaguer."""

import pytest
from tools.prose import Rate, problems, texts_of_module

MODULE = '''"""What a module has."""

LIMIT = 5
"""The largest number."""


class Port:
    """A port."""

    number: int = 0
    """Whether it is open."""

    name: str

    def check(self) -> None:
        """Checks `it`."""
        other = 1
        "a string that follows an assignment in a function"
        raise ValueError("nobody listens", 1)
'''


def rate(source: str) -> Rate:
    found = Rate()
    for text in texts_of_module(source):
        found = found.plus(text)
    return found


def test_docstrings_of_attributes_count_as_those_of_classes_and_functions() -> None:
    docstrings = [" ".join(text.words) for text in texts_of_module(MODULE) if text.is_docstring]
    assert sorted(docstrings) == [
        "a port",
        "a string that follows an assignment in a function",
        "checks",
        "the largest number",
        "what a module has",
        "whether it is open",
    ]


def test_openings_count_among_docstrings_and_vague_words_in_all_texts() -> None:
    found = rate(MODULE)
    assert (found.docstrings, found.questions) == (6, 2)
    # `what`, `it` and `nobody`; names in backquotes are code.
    assert found.vague == 3


@pytest.mark.parametrize(("text", "is_counted"), [("X = 1\n'How.'\n", True), ("X()\n'How.'\n", False)])
def test_only_a_string_after_an_assignment_is_a_docstring(text: str, is_counted: bool) -> None:
    assert rate(text).questions == is_counted


def test_a_package_may_not_become_vaguer_than_recorded() -> None:
    found = rate(MODULE)
    recorded = [found.vague_rate, found.opening_rate]
    assert problems({"app": found}, {"app": recorded}) == []
    assert [line.split(":")[0] for line in problems({"app": found}, {"app": [0.0, 0.0]})] == ["app", "app"]
    assert len(problems({"app": found}, {"app": [recorded[0], 0.0]})) == 1
