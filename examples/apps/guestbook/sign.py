"""Writes into the guest book, as a browser would, and looks whether it is there."""

import sys
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

url, who = sys.argv[1:]
words = f"{who} was here"
with build_opener(ProxyHandler({})).open(f"{url}/cgi-bin/index.cgi", urlencode({"text": words}).encode()) as answer:
    page = answer.read().decode()
if words not in page:
    raise SystemExit(f"it does not say {words!r}:\n{page}")
print(f"the book says: {words}")
