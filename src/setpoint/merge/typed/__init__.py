"""The merge rules of the types of an API: the ownable fields of a value, and the merge of two values.

`node` defines the operations of every type; `scalar`, `list`, `map` and `any` are the types; `validate` produces the
messages for a value of the wrong type.
"""
