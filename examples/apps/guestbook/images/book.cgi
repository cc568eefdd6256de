#!/bin/sh
# The entries, a line each. What is sent becomes one more.
if [ "$REQUEST_METHOD" = POST ]; then
    head -c "$CONTENT_LENGTH" | tr '\r\n' '  ' >> /data/entries
    echo >> /data/entries
fi
printf 'Content-Type: text/plain; charset=utf-8\r\n\r\n'
cat /data/entries 2>/dev/null || true
