"""What the types of an API know about merging: which fields of a value somebody owns, and how two values come together.

`node` says what every type can do; `scalar`, `list`, `map` and `any` are the types; `validate` words what is wrong with
a value of the wrong type.
"""
