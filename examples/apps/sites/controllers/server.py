"""Serves the pages of one site."""

import base64
import html
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES: dict[str, str] = json.loads(base64.b64decode(os.environ["PAGES"]))


class Page(BaseHTTPRequestHandler):
    """One request."""

    def do_GET(self) -> None:
        name = self.path.strip("/") or "index"
        found = PAGES.get(name)
        links = " ".join(f'<a href="/{each}">{html.escape(each)}</a>' for each in sorted(PAGES))
        text = html.escape(found if found is not None else f"There is no page {name}.")
        data = (
            f"<!doctype html><meta charset=utf-8><title>{html.escape(name)}</title><nav>{links}</nav><p>{text}".encode()
        )
        self.send_response(200 if found is not None else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nobody needs a line for every page."""


port = int(sys.argv[1])
with ThreadingHTTPServer(("127.0.0.1", port), Page) as server:
    print(f"{len(PAGES)} pages on port {port}")
    server.serve_forever()
