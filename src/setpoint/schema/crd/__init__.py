"""CustomResourceDefinitions without their schemas: defaults, validation, names, conditions, tables.

A definition is passed as a JSON tree; `definition` converts the tree to typed parts. Every function here is pure: each
returns a new tree or a list of field errors, and takes the other definitions and the time as arguments.
"""
