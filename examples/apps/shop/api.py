"""The API of the shop: what there is to buy, and orders.

GET  /products      [{"name": "tea", "stock": 40}, ...]
POST /orders        {"product": "tea"}  ->  {"order": 1}
GET  /orders/1      {"order": 1, "product": "tea", "state": "packed"}
GET  /healthz       200 while the database answers: the API can be used
GET  /livez         200 while this program answers: it need not be restarted
"""

import json
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from store import Store, StoreError

Answer = tuple[int, object]


def health(store: Store) -> Answer:
    return 200, {"products": len(store.ask("GET", "products").split(","))}


def products(store: Store) -> Answer:
    names = store.ask("GET", "products").split(",")
    return 200, [{"name": name, "stock": int(store.ask("GET", f"stock:{name}"))} for name in names]


def order(store: Store, number: str) -> Answer:
    product = store.ask("GET", f"order:{number}")
    if not product:
        return 404, {"error": f"there is no order {number}"}
    return 200, {"order": int(number), "product": product, "state": store.ask("GET", f"state:{number}")}


def place_order(store: Store, product: str) -> Answer:
    if product not in store.ask("GET", "products").split(","):
        return 400, {"error": f"there is no {product} in this shop"}
    if int(store.ask("ADD", f"stock:{product}", -1)) < 0:
        store.ask("ADD", f"stock:{product}", 1)
        return 409, {"error": f"no {product} is left"}
    number = store.ask("ADD", "last-order", 1)
    store.ask("SET", f"order:{number}", product)
    store.ask("SET", f"state:{number}", "ordered")
    store.ask("PUSH", "to-pack", number)
    print(f"order {number}: {product}")
    return 201, {"order": int(number)}


class Api(BaseHTTPRequestHandler):
    """One request."""

    def do_GET(self) -> None:
        match self.path.strip("/").split("/"):
            case ["livez"]:
                self.answer(200, {})
            case ["healthz"]:
                self.ask(health)
            case ["products"]:
                self.ask(products)
            case ["orders", number]:
                self.ask(lambda store: order(store, number))
            case _:
                self.answer(404, {"error": f"there is no {self.path}"})

    def do_POST(self) -> None:
        try:
            wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)))
            product = str(wanted["product"])
        except (ValueError, KeyError, TypeError):
            self.answer(400, {"error": 'send {"product": "tea"}'})
        else:
            self.ask(lambda store: place_order(store, product))

    def do_OPTIONS(self) -> None:
        """A browser asks whether a page from another address may send orders."""
        self.answer(200, {})

    def ask(self, work: Callable[[Store], Answer]) -> None:
        try:
            with Store() as store:
                status, body = work(store)
        except StoreError as error:
            status, body = 503, {"error": str(error)}
        self.answer(status, body)

    def answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Allow-Headers": "Content-Type",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Orders are news; that somebody asked is not."""


port = int(sys.argv[1])
with ThreadingHTTPServer(("127.0.0.1", port), Api) as server:
    print(f"listening on {port}")
    server.serve_forever()
