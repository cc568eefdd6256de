"""Admission: who may change a write, or refuse it, after it was authorized and before it is stored."""
