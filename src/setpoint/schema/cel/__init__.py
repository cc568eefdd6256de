"""CEL: the language of validation rules and policies, compiled to Python."""
