#!/bin/sh
# The page: a form, and what others have written.
if [ "$REQUEST_METHOD" = POST ]; then
    text=$(head -c "$CONTENT_LENGTH" | sed 's/^text=//')
    wget -q -O /dev/null --post-data "$(httpd -d "$text")" "$BOOK_URL/cgi-bin/entries"
fi
printf 'Content-Type: text/html; charset=utf-8\r\n\r\n'
cat <<PAGE
<!doctype html>
<html lang="en">
<meta charset="utf-8"><title>Guest book</title>
<body style="font: 1.1rem/1.5 system-ui; max-width: 32rem; margin: 3rem auto">
<h1>Guest book</h1>
<form method="post" action="/cgi-bin/index.cgi">
<input name="text" aria-label="Your words" required> <button>Write</button>
</form>
<ul>
$(wget -q -O - "$BOOK_URL/cgi-bin/entries" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/.*/<li>&<\/li>/')
</ul>
PAGE
