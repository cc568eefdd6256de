"""The canonical text of an answer: values that a server chooses become tokens, numbered in order of appearance.

The work is done on the text by one expression, because most answers are equal afterwards and need no decoding.
"""

import re
from datetime import UTC, datetime, timedelta

_DAYS = "|".join((datetime.now(UTC) + timedelta(days=day)).strftime("%Y-%m-%d") for day in (-1, 0, 1, 2))
_SAFE = "[bcdfghjklmnpqrstvwxz2456789]"
# The start of an OpenAPI document, in which no server chooses values.
_DOCUMENT = ('{"openapi":', '{"swagger":')
_PATTERN = re.compile(
    r'"metadata":\s*\{\s*(?P<list>"continue":\s?"",\s*)?"resourceVersion":\s?"\d*"(?P<ends>(?=\s*\}|,\s*"continue"|,\s*"remainingItemCount"))'
    # An object in a message is quoted once or twice.
    r'|(?P<quote>\\*)"resourceVersion(?P=quote)":\s?(?P=quote)"(?P<rv>\d+)(?P=quote)"'
    r'|"continue":"(?P<continue>[^"]{9,})"(?P<more>(?:,"remainingItemCount":\d+)?,"resourceVersion":)?(?(more)"\d+")(?P<page>)'
    r'|resourceVersion: "(?P<yaml_rv>\d+)"'
    r"|(?P<uid>\b(?!(?:11111111-1111|22222222-2222|33333333-3333)-4)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"
    rf"|(?P<time>(?:{_DAYS})T\d\d:\d\d:\d\d(?P<fraction>\.\d+)?(?:Z|[+-]\d\d:\d\d))"
    r'|(?P<port>ode[pP]ort(?:\\*":\s?|: ))(?P<port_number>3[0-2]\d\d\d)\b'
    # The same in the cell of a Table.
    r"|(?P<service_port>\d:)(?P<cell_port>3[0-2]\d\d\d)(?=/(?:TCP|UDP|SCTP)\b)"
    # The range of the services, and those of the ServiceCIDRs of other episodes.
    r"|(?P<ip>\b10\.(?:0|1\d\d)\.\d{1,3}\.(?!0/)\d{1,3}\b)"
    rf"|(?P<name>gen-[a-z0-9]+-{_SAFE}{{5}}\b)"
    rf"|kube-api-access-(?P<access>{_SAFE}{{5}})\b"
    r'|(?P<label>"?continue"?: "?)(?P<token_of_page>eyJ[\w-]{9,})'
    r'|"(?P<token>ey[\w-]{20,}\.[\w-]+\.[\w-]+)"'
    r'|(?P<age>"\d{1,3}s"|"<invalid>")'
    # Versions in messages, and the file of a scheme, which depends on how the program was built.
    r"|(?P<before>in the precondition \(|in record \(|, current: "
    r"|ResourceVersion(?: in precondition| in object meta)?: )(?P<version>\d+)\b(?!-)"
    # The hash of an OpenAPI document, which contains the version of the program.
    r"|\?hash=(?P<hash>[0-9A-F]{128})"
    # YAML may break the line.
    r'|in\s+scheme\s+\\?"(?P<scheme>[\w./:-]+)'
)

# The metadata of a list in YAML.
_YAML_LIST = re.compile(
    r'(^metadata:\n(?:  continue: .*\n)?(?:  remainingItemCount: \d+\n)?  resourceVersion: )"\d+"(?=\n\S|\n?\Z)', re.M
)
_GENERATED = re.compile(r'"generateName":\s?"([^"\\]+)"')


class Names:
    """The values that one server chose in an episode, by category and order of appearance."""

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}
        self._tokens: dict[tuple[str, str], int] = {}

    def number(self, category: str, value: str) -> int:
        """The number of a value, which is a new one at its first appearance."""
        found = self._tokens.get((category, value))
        if found is None:
            values = self._values.setdefault(category, [])
            found = self._tokens[category, value] = len(values)
            values.append(value)
        return found

    def another(self, category: str, value: str) -> int:
        """A new number for a value, even if the value appeared before."""
        values = self._values.setdefault(category, [])
        values.append(value)
        return len(values) - 1

    def value(self, category: str, number: int) -> str:
        """The value with a number; `0` if there is none, which no server chooses."""
        values = self._values.get(category, ())
        return values[number] if number < len(values) else "0"

    def values(self, category: str) -> tuple[str, ...]:
        return tuple(self._values.get(category, ()))

    def count(self, category: str) -> int:
        return len(self._values.get(category, ()))

    def copy(self) -> "Names":
        found = Names()
        found._values = {category: list(values) for category, values in self._values.items()}
        found._tokens = dict(self._tokens)
        return found


def canonical(body: bytes, names: Names) -> str:
    """The canonical text of a body in JSON, YAML or plain text."""

    def token(found: re.Match[str]) -> str:
        match found.lastgroup:
            case "uid" | "ip" | "name" as category:
                return f"<{category}:{names.number(category, found[0])}>"
            case "rv":
                quote = f'{found["quote"]}"'
                return f"{quote}resourceVersion{quote}:{quote}<rv:{names.number('rv', found['rv'])}>{quote}"
            case "yaml_rv":
                return f'resourceVersion: "<rv:{names.number("rv", found["yaml_rv"])}>"'
            case "ends":
                return f'"metadata":{{{found["list"] or ""}"resourceVersion":"<listrv>"'
            case "page":
                rest = f'{found["more"]}"<listrv>"' if found["more"] else ""
                # A token contains a version, which other writes may change.
                return f'"continue":"<continue:{names.another("continue", found["continue"])}>"{rest}'
            case "token_of_page":
                return f"{found['label']}<continue:{names.another('continue', found['token_of_page'])}>"
            case "port_number":
                return f'{found["port"]}"<port:{names.number("port", found["port_number"])}>"'
            case "cell_port":
                return f"{found['service_port']}<port:{names.number('port', found['cell_port'])}>"
            case "access":
                return f"kube-api-access-<access:{names.number('access', found['access'])}>"
            case "token":
                return '"<token>"'
            case "version":
                return f"{found['before']}<version>"
            case "scheme":
                return "in scheme <file>"
            case "hash":
                return "?hash=<hash>"
            case "age":
                return '"<age>"'
        return "<microtime>" if found["fraction"] else "<time>"

    text = body.decode("utf-8", "replace")
    for prefix in {found[1] for found in _GENERATED.finditer(text)}:
        # A name that begins with a prefix of the episode is found by the expression for all values.
        if not prefix.startswith("gen-"):
            # A server cuts a long prefix.
            pattern = rf'(?<="){re.escape(prefix[:58])}{_SAFE}{{5}}(?=")'
            text = re.sub(pattern, lambda name: f"<name:{names.number('name', name[0])}>", text)
    for name in names.values("name"):
        # Messages name an object without the prefix of its name.
        text = text.replace(name, f"<name:{names.number('name', name)}>")
    if "\nmetadata:\n" in text:
        text = _YAML_LIST.sub(r'\1"<listrv>"', text)
    return text if text.startswith(_DOCUMENT) else _PATTERN.sub(token, text)
