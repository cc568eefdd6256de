"""CustomResourceDefinitions, apart from the schema inside them: defaults, validation, names, conditions, tables.

A definition travels as a JSON tree; `definition` reads it into typed parts. Every function here is pure: it returns a
new tree or a list of field errors, and takes the other definitions and the time as arguments.
"""
