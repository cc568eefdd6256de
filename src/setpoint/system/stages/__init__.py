"""Stages of KWOK: declared steps in the life of objects, chosen by selectors."""
