"""Fills the shelves, unless that has been done."""

from store import Store

PRODUCTS = {"tea": 40, "coffee": 25, "biscuits": 12}

with Store() as store:
    if store.ask("GET", "products"):
        print("nothing to do")
    else:
        for name, stock in PRODUCTS.items():
            store.ask("SET", f"stock:{name}", stock)
        store.ask("SET", "products", ",".join(PRODUCTS))
        print(f"{len(PRODUCTS)} products on the shelves")
