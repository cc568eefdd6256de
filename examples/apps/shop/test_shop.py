"""Orders something and waits until it is packed: the whole shop in one test. `setpoint run test` runs it."""

import json
import os
import sys
import time
import unittest
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

API = os.environ["API_URL"]
PATIENCE_SECONDS = 10
# The shop is on this machine: whatever proxy the environment names is not asked.
OPENER = build_opener(ProxyHandler({}))


def ask(path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with OPENER.open(Request(API + path, data, {"Content-Type": "application/json"})) as answer:
        return json.load(answer)


def stock(product: str) -> int:
    left: int = next(each["stock"] for each in ask("/products") if each["name"] == product)
    return left


class Orders(unittest.TestCase):
    def test_what_is_ordered_gets_packed(self) -> None:
        before = stock("tea")
        number = ask("/orders", {"product": "tea"})["order"]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while ask(f"/orders/{number}")["state"] != "packed":
            self.assertLess(time.monotonic(), deadline, "nobody packs the order")
            time.sleep(0.05)
        self.assertLess(stock("tea"), before)

    def test_what_the_shop_does_not_have_is_refused(self) -> None:
        with self.assertRaises(HTTPError) as refused:
            ask("/orders", {"product": "umbrella"})
        with refused.exception as answer:
            self.assertEqual((answer.code, json.load(answer)["error"]), (400, "there is no umbrella in this shop"))


unittest.main(testRunner=unittest.TextTestRunner(sys.stdout))
