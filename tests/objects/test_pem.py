"""The blocks of PEM files, compared with the patterns that define them."""

import re
from collections.abc import Callable
from itertools import product
from random import Random

import pytest

from setpoint.objects.pem import certificates_in, is_certificate, pem_blocks

# The definitions: correct, but quadratic.
_ANY = re.compile(r"-----BEGIN ([^-\n]+)-----(.*?)-----END \1-----", re.DOTALL)
_CAPITALS = re.compile(r"-----BEGIN ([A-Z ]+)-----(.*?)-----END \1-----", re.DOTALL)
_CERTIFICATE = re.compile(r"-----BEGIN (CERTIFICATE)-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_NOT_EMPTY = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
# Markers, parts of markers, and texts between them.
_PARTS = (
    *("-----BEGIN A-----", "-----END A-----", "-----BEGIN b-----", "-----END b-----", "BEGIN A-----", "END A-----"),
    *("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----", "-----BEGIN \n-----", "-----END", "-", "-----"),
    *("\n", " ", "x", "\u00e9"),
)
_TEXTS = ["".join(parts) for length in range(4) for parts in product(_PARTS, repeat=length)]


def _random_texts() -> list[str]:
    random = Random(38)
    return ["".join(random.choices(_PARTS, k=random.randint(4, 12))) for _ in range(20_000)]


@pytest.mark.parametrize(
    ("definition", "is_label"),
    [
        pytest.param(_ANY, bool, id="any"),
        pytest.param(_CAPITALS, re.compile("[A-Z ]+").fullmatch, id="capitals"),
        pytest.param(_CERTIFICATE, is_certificate, id="certificates"),
    ],
)
def test_blocks_are_those_of_the_pattern(definition: "re.Pattern[str]", is_label: Callable[[str], object]) -> None:
    found = 0
    for text in (*_TEXTS, *_random_texts()):
        wanted = [(match[1], match[2], match[0]) for match in definition.finditer(text)]
        assert list(pem_blocks(text, is_label)) == wanted, text
        found += len(wanted)
    assert found > 1_000


def test_certificates_have_a_body() -> None:
    for text in (*_TEXTS, *_random_texts()):
        assert certificates_in(text) == [f"{found}\n" for found in _NOT_EMPTY.findall(text)], text


def test_a_block_has_its_label_and_its_body() -> None:
    first, second = pem_blocks("x\n-----BEGIN KEY-----\neA==\n-----END KEY-----\n-----BEGIN A B----------END A B-----")
    assert first == ("KEY", "\neA==\n", "-----BEGIN KEY-----\neA==\n-----END KEY-----")
    assert (second.label, second.body) == ("A B", "")
