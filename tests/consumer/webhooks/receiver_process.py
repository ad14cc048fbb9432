"""A receiver with a worker as a process of its own, for tests that kill it: DATABASE_URL FOLDER, prints its port."""

import sys
import threading
import time
from pathlib import Path

from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from consumer.config import load
from consumer.facts.house import House
from consumer.facts.store import Store
from consumer.inbox.apply import apply_pending
from consumer.webhooks.blueprint import webhooks


class Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def main(database_url: str, folder: str) -> None:
    environ = {
        "CUADRE_PROVIDER_URL": "http://provider.test",
        "CUADRE_API_KEY": "sk_test_sandbox",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_WEBHOOK_SECRETS": "whsec_test_secret",
        "CUADRE_DATA_DIR": folder,
        "CUADRE_SECRET_KEY": "tests",
    }
    house = House(load(environ, folder=Path(folder)), Store(database_url))
    app = Flask("receiver")
    app.register_blueprint(webhooks(house))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    threading.Thread(target=work, args=(house,), daemon=True).start()
    print(server.port, flush=True)  # noqa: T201 - the test reads it
    server.serve_forever()


def work(house: House) -> None:
    while True:
        apply_pending(house.store, house.settings, worker=f"worker {time.monotonic_ns()}", batch=5)
        time.sleep(0.005)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
