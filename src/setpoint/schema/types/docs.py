"""Descriptions from docstrings: of a class, and of the strings below its fields.

Python keeps the docstring of a class, but drops a string below a field; such a string is read from the source, if
available, when a definition is made.
"""

import ast
import inspect
import textwrap
import tokenize
from functools import lru_cache


def class_description(cls: type) -> str:
    """Returns the docstring of the class itself."""
    text = cls.__dict__.get("__doc__")
    return inspect.cleandoc(text) if isinstance(text, str) else ""


@lru_cache(maxsize=256)
def field_descriptions(cls: type) -> dict[str, str]:
    """Returns the strings below the fields of a class and its bases, by field."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__ not in ("builtins", "msgspec"):
            found.update(_own_descriptions(base))
    return found


def _own_descriptions(cls: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError, ValueError, tokenize.TokenError):
        return {}
    found: dict[str, str] = {}
    definition = tree.body[0] if tree.body else None
    # Since Python 3.13, inspect takes the lines at the recorded number, whatever the file contains there: for a class
    # made by exec, or a file edited since its import, these can be lines of another class.
    if isinstance(definition, ast.ClassDef) and definition.name == cls.__name__:
        for field, below in zip(definition.body, definition.body[1:], strict=False):
            if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
                continue
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                text = below.value.value
                if isinstance(text, str):
                    found[field.target.id] = inspect.cleandoc(text)
    return found
