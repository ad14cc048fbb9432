"""The product's processes without its pages, for proofs that kill them: ROLE [PORT [PROCESSES]], settings as always."""

import os
import sys
import time
from pathlib import Path

import sqlalchemy as sa
from flask import Flask

from consumer.commands.serving import listen
from consumer.config import load
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.health.endpoint import health
from consumer.inbox.apply import drain
from consumer.jobs.worker import Worker, worker_name
from consumer.logs import configure_logs
from consumer.webhooks.blueprint import webhooks
from consumer.webhooks.group_commit import PATIENCE_SECONDS, Writer


def open_installation() -> Installation:
    configure_logs()
    settings = load(os.environ, folder=Path.cwd())
    return Installation(settings, Store(settings.database_url))


def receiver() -> Flask:
    """What each process of the server builds."""
    installation = open_installation()
    app = Flask("receiver")
    # The short form of the proofs does not wait the contract's ten seconds.
    patience = float(os.environ.get("CUADRE_TEST_PATIENCE", PATIENCE_SECONDS))
    app.register_blueprint(webhooks(installation, writer=Writer(installation.store, patience=patience)))
    app.register_blueprint(health(installation, is_allowed=lambda: False))
    return app


def work(*, batch: int = 20) -> None:
    installation = open_installation()
    worker = Worker(lambda: drain(installation.store, installation.settings, worker=worker_name(), batch=batch).claimed)
    worker.start()
    worker.wait()


def write() -> None:
    """Be in the middle of a write a third of the time, as a command beside the others would be."""
    store = open_installation().store
    while True:
        with store.connection() as connection:
            connection.execute(sa.text("UPDATE event SET arrivals = arrivals WHERE id = 'evt_0'"))
            time.sleep(0.02)
        time.sleep(0.04)


if __name__ == "__main__":
    role, *rest = sys.argv[1:]
    if role == "receive":
        listen("installation:receiver", "127.0.0.1", int(rest[0]), processes=int(rest[1]))
    else:
        {"work": work, "write": write}[role]()
