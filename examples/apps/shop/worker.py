"""Packs what was ordered, one after the other. An order stays in the queue until it is packed."""

import time

from store import Store

SECONDS_PER_PARCEL = 0.2
SECONDS_BETWEEN_LOOKS = 0.1

with Store() as store:
    print("waiting for orders")
    while True:
        number = store.ask("FIRST", "to-pack")
        if not number:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            continue
        time.sleep(SECONDS_PER_PARCEL)
        store.ask("SET", f"state:{number}", "packed")
        store.ask("DROP", "to-pack")
        print(f"packed order {number}: {store.ask('GET', f'order:{number}')}")
