"""Serves the page of the shop, which talks to the API by itself."""

import html
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Page(BaseHTTPRequestHandler):
    """One request."""

    def do_GET(self) -> None:
        page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
        for name in ("SHOP_NAME", "API_URL"):
            page = page.replace(f"{{{{{name}}}}}", html.escape(os.environ[name]))
        data = page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nobody needs a line for every page."""


port = int(sys.argv[1])
with ThreadingHTTPServer(("127.0.0.1", port), Page) as server:
    print(f"listening on {port}")
    server.serve_forever()
