"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: admission rules as objects, written in CEL."""
