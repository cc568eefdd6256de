"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: rules of admission that are objects, written in CEL."""
