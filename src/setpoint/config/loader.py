"""Reads the configuration from a file and from flags; flags take precedence.

Every mistake is reported with the line or the flag that contains the value.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from setpoint.config.checks import check
from setpoint.config.fields import ConfigField, all_fields
from setpoint.config.settings import Config
from setpoint.objects import typedyaml
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes, ParsedFile

MASK = "********"


def read_config(file: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Config:
    """Returns the configuration of a file, overridden by flags.

    `overrides` has the texts of the flags by flag name. Raises Mistakes with all mistakes found.
    """
    source = _read(file) if file is not None else ParsedFile({})
    tree: Object = source.tree if type(source.tree) is dict else {}
    flags: dict[typedyaml.Path, str] = {}
    found: list[Mistake] = []
    for field in all_fields():
        text = (overrides or {}).get(field.flag)
        if text is None:
            continue
        flags[field.path] = field.flag
        try:
            tree = typedyaml.overlaid(tree, field.path, _value(field, text))
        except Mistakes as mistakes:
            found += (mistake._replace(where=field.flag) for mistake in mistakes.found)
    if found:
        raise Mistakes(found)

    def where(path: typedyaml.Path) -> str:
        for length in range(len(path), 0, -1):
            if path[:length] in flags:
                return flags[path[:length]]
        return source.where(path)

    if source.tree is not None and type(source.tree) is not dict:
        raise Mistakes([Mistake(source.where(()), "", "expected a mapping of fields, e.g. listen: 127.0.0.1:6443")])
    config = typedyaml.convert(tree, Config, where)
    wrong = check(config)
    if wrong:
        raise Mistakes([Mistake(where(path), typedyaml.path_text(path), message) for path, message in wrong])
    return config


def _read(file: Path) -> ParsedFile:
    try:
        text = file.read_text()
    except OSError as error:
        raise Mistakes([Mistake(str(file), "", f"cannot read the file: {error.strerror or error}")]) from None
    except UnicodeDecodeError:
        raise Mistakes([Mistake(str(file), "", "the file is not valid UTF-8")]) from None
    return typedyaml.read(text, str(file))


def _value(field: ConfigField, text: Any) -> Any:
    """Parses the text of a flag. Text of the wrong type stays as is, so that the conversion reports the mistake."""
    if field.is_dict:
        return dict(_pair(field, each) for each in text)
    if field.is_list:
        item = field.type.item_type  # type: ignore[attr-defined]
        if isinstance(item, msgspec.inspect.StructType):
            return [typedyaml.read(each, field.flag).tree for each in text]
        return [part for each in text for part in each.split(",") if part]
    return _number(field.type, text) if isinstance(text, str) else text


def _pair(field: ConfigField, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Mistakes([Mistake(field.flag, field.name, f"invalid value {text}: expected {field.metavar}")])
    return name, value


def _number(kind: msgspec.inspect.Type, text: str) -> Any:
    if isinstance(kind, msgspec.inspect.UnionType):
        [kind] = [each for each in kind.types if not isinstance(each, msgspec.inspect.NoneType)]
    try:
        if isinstance(kind, msgspec.inspect.IntType):
            return int(text)
        if isinstance(kind, msgspec.inspect.FloatType):
            return float(text)
    except ValueError:
        pass
    return text


def shown(config: Config) -> Object:
    """Returns the configuration as the tree of a file, with secrets masked."""
    tree: Object = msgspec.to_builtins(config, str_keys=True)
    for field in all_fields():
        if field.is_secret and _at(tree, field.path):
            tree = typedyaml.overlaid(tree, field.path, MASK)
    scheme, at, host = str(tree["store"]).rpartition("@")
    if at:  # a URL that contains a password
        tree["store"] = f"{scheme.rpartition('//')[0]}//{MASK}@{host}"
    return tree


def _at(tree: Object, path: tuple[str, ...]) -> Any:
    found: Any = tree
    for name in path:
        found = found[name]
    return found
