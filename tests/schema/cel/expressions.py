"""Random expressions with their types right, over a schema that has a bit of everything."""

from hypothesis import strategies as st

SCHEMA = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "limit": {"type": "integer", "minimum": 0},
        "name": {"type": "string", "maxLength": 20},
        "label": {"type": "string"},
        "ratio": {"type": "number"},
        "enabled": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "ports": {"type": "array", "items": {"type": "integer"}},
        "weights": {"type": "object", "additionalProperties": {"type": "integer"}},
        "missing": {"type": "integer"},
        "wait": {"type": "string", "format": "duration"},
        "since": {"type": "string", "format": "date-time"},
        "data": {"type": "string", "format": "byte"},
        "either": {"x-kubernetes-int-or-string": True},
        "unique": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "nested": {
            "type": "object",
            "properties": {"depth": {"type": "integer"}, "title": {"type": "string"}, "maybe": {"type": "string"}},
        },
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"key": {"type": "string"}, "value": {"type": "integer"}, "note": {"type": "string"}},
            },
        },
    },
}

_words = st.sampled_from(["", "a", "b", "ab", "web", "héllo", "a-b", "1", "x,y"])
_integer = st.integers(-3, 40) | st.sampled_from([2**31, 2**62, -(2**62), 2**63 - 1])
objects = st.fixed_dictionaries(
    {
        "count": _integer,
        "limit": st.integers(0, 9),
        "name": _words,
        "label": _words,
        "ratio": st.sampled_from([0.0, 1.0, 1.5, -2.25, 3, 1e100]),
        "enabled": st.booleans(),
        "tags": st.lists(_words, max_size=4),
        "ports": st.lists(st.integers(-2, 9), max_size=4),
        "weights": st.dictionaries(_words, st.integers(0, 9), max_size=3),
        "wait": st.sampled_from(["1h", "90s", "1500ms"]),
        "since": st.sampled_from(["2024-01-02T03:04:05Z", "2020-02-29T23:59:59.5+01:00"]),
        "data": st.sampled_from(["aGk=", "AA=="]),
        "either": st.sampled_from([1, 80, "50%", "http"]),
        "unique": st.lists(_words, max_size=3, unique=True),
        "nested": st.fixed_dictionaries({"depth": st.integers(0, 9)}, optional={"title": _words, "maybe": _words}),
        "items": st.lists(
            st.fixed_dictionaries({"key": _words, "value": st.integers(-1, 9)}, optional={"note": _words}), max_size=3
        ),
    }
)


def _quoted(text: str) -> str:
    return f"'{text}'"


def forms(*templates: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One of the templates, with each `{part}` drawn on its own."""

    def fill(template: str) -> st.SearchStrategy[str]:
        names = [name for name in parts if f"{{{name}}}" in template]
        return st.builds(
            lambda values: template.replace("{{", "\0").format_map(values).replace("\0", "{"),
            st.fixed_dictionaries({name: parts[name] for name in names}),
        )

    return st.one_of([fill(template) for template in templates])


_leaf_int = st.one_of(
    st.integers(-3, 40).map(str),
    st.sampled_from(["self.count", "self.limit", "self.missing", "self.nested.depth", "9223372036854775807"]),
)
_leaf_string = st.one_of(
    _words.map(_quoted),
    st.sampled_from(["self.name", "self.label", "self.nested.title", "self.nested.maybe", "self.tags[0]"]),
)
_leaf_double = st.sampled_from(["0.0", "1.5", "-2.25", "self.ratio", "1e3"])
_leaf_bool = st.sampled_from(
    ["true", "false", "self.enabled", "has(self.missing)", "has(self.nested.title)", "has(self.nested.maybe)"]
)
_leaf_strings = st.sampled_from(["self.tags", "['a', 'b']", "self.unique", "self.items.map(i, i.key)"])
_leaf_ints = st.sampled_from(["self.ports", "[1, 2, 3]", "self.items.map(i, i.value)", "self.weights.map(k, 1)"])


def _build(depth: int) -> dict[str, st.SearchStrategy[str]]:
    if depth == 0:
        return {
            "i": _leaf_int,
            "s": _leaf_string,
            "d": _leaf_double,
            "b": _leaf_bool,
            "ls": _leaf_strings,
            "li": _leaf_ints,
        }
    below = _build(depth - 1)
    integers = _leaf_int | forms(
        "({i} + {i})",
        "({i} - {i})",
        "({i} * {i})",
        "({i} / {i})",
        "({i} % {i})",
        "(-({i}))",
        "({b} ? {i} : {i})",
        "size({s})",
        "{ls}.size()",
        "{li}.sum()",
        "{li}.max()",
        "{s}.indexOf({s})",
        "int({d})",
        "{li}[{i}]",
        "{li}.filter(n, n > {i}).size()",
        "self.?missing.orValue({i})",
        "self.?nested.?depth.orValue({i})",
        "self.?tags.orValue([]).size()",
        "{li}.indexOf({i})",
        "int({s})",
        "self.since.getHours()",
        "self.wait.getSeconds()",
        **below,
    )
    strings = _leaf_string | forms(
        "({s} + {s})",
        "({b} ? {s} : {s})",
        "{s}.upperAscii()",
        "{s}.replace({s}, {s})",
        "{s}.substring({i})",
        "{s}.trim()",
        "{ls}.join({s})",
        "string({i})",
        "{s}.charAt({i})",
        "'%s=%d'.format([{s}, {i}])",
        "self.?nested.?title.orValue({s})",
        "{s}.find('[a-z]+')",
        **below,
    )
    doubles = _leaf_double | forms("({d} + {d})", "({d} * {d})", "({d} / {d})", "(-({d}))", "double({i})", **below)
    booleans = _leaf_bool | forms(
        "({b} && {b})",
        "({b} || {b})",
        "(!({b}))",
        "({b} ? {b} : {b})",
        "({i} == {i})",
        "({i} != {i})",
        "({i} < {i})",
        "({i} >= {d})",
        "({d} < {d})",
        "({d} == {d})",
        "({s} == {s})",
        "({s} < {s})",
        "({b} == {b})",
        "({s} in {ls})",
        "({i} in {li})",
        "({i} in [1, 2, 3])",
        "({s} in self.weights)",
        "{s}.startsWith({s})",
        "{s}.contains({s})",
        "{s}.matches('^[a-z]+$')",
        "{ls}.all(t, t == {s})",
        "{ls}.exists(t, t.size() > {i})",
        "{li}.exists_one(n, n == {i})",
        "{li}.all(n, n < {i} || {b})",
        "self.items.all(item, item.value >= {i})",
        "self.items.exists(item, item.key == {s} && has(item.note))",
        "self.items.all(a, self.items.exists(b, a.key == b.key && b.value < {i}))",
        "self.weights.all(k, v, v > {i})",
        "self.?items.orValue([]).all(i, i.key != {s})",
        "self.?nested.?maybe.hasValue()",
        "({ls} == {ls})",
        "({li} == {li})",
        "(self.unique == {ls})",
        "(self.nested == self.nested)",
        "(self.either == {s})",
        "(type(self.either) == int)",
        "(self.data == b'hi')",
        "(self.wait > duration('80s'))",
        "sets.contains({ls}, {ls})",
        "{li}.isSorted()",
        **below,
    )
    string_lists = _leaf_strings | forms(
        "({ls} + {ls})", "{ls}.filter(t, t != {s})", "{ls}.map(t, t + {s})", "{s}.split({s})", "{ls}.sort()", **below
    )
    integer_lists = _leaf_ints | forms(
        "({li} + {li})", "{li}.filter(n, n > {i})", "{li}.map(n, n + {i})", "{li}.reverse()", "{li}.distinct()", **below
    )
    return {"i": integers, "s": strings, "d": doubles, "b": booleans, "ls": string_lists, "li": integer_lists}


_forms_by_type = _build(3)
conditions = _forms_by_type["b"]
expressions = st.one_of(list(_forms_by_type.values()))
