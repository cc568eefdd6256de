"""An interpreter of Go's text/template on decoded JSON."""
