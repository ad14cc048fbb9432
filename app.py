"""Cuadre, put together: builds every long-lived object, gathers the rooms' commands, knows the table of jobs."""

import logging
import os
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import click
import sqlalchemy as sa
import structlog
from alembic.util import CommandError
from flask import Flask
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server

import consumer.commands
import reconcile.commands
import reports.commands
import sandbox.commands
from consumer.config import ConfigError, Connection, load
from consumer.facts import schema
from consumer.facts.house import House
from consumer.facts.store import Store
from consumer.facts.terminal import Exit, Refusal, leave, say
from consumer.health import health
from consumer.inbox.apply import drain
from consumer.jobs import schedule
from consumer.jobs.commands import commands as job_commands
from consumer.jobs.schedule import Job
from consumer.jobs.worker import Worker, worker_name
from consumer.provider.errors import ProviderError
from consumer.webhooks.blueprint import webhooks
from reports import pages

RECEIVER_THREADS = 32


def open_house() -> House:
    """Read the settings and open the store; an empty database gets its tables, an older PostgreSQL is refused."""
    settings = load(os.environ, folder=Path.cwd())
    reconcile.commands.check_settings(settings)
    store = Store(settings.database_url)
    if store.is_sqlite or schema.is_empty(store):
        schema.upgrade(store)
    else:
        schema.check_migrated(store)
    return House(settings=settings, store=store)


def create_app(house: House) -> Flask:
    """Build the receiver and the pages of one installation."""
    app = Flask(__name__, static_folder=None)
    app.config["SECRET_KEY"] = house.settings.secret_key.get_secret_value()
    app.register_blueprint(webhooks(house))
    pages.register(app, house)
    app.register_blueprint(health(house, is_allowed=pages.token_check(house)))
    return app


def serve_all() -> Flask:
    """Receiver, pages, worker and scheduler in this process: what `cuadre serve` runs."""
    house = open_house()
    start_work(house)
    return create_app(house)


def serve_web() -> Flask:
    """Receiver and pages alone: what each process of `cuadre web` runs."""
    return create_app(open_house())


def start_work(house: House) -> Worker:
    """Apply the inbox and run the nights, from threads of this process."""
    name = worker_name()
    worker = Worker(lambda: drain(house.store, house.settings, worker=name).settled)
    worker.start()
    schedule.start(job_table(house), house.store, worker=name)
    return worker


def job_table(house: House) -> Sequence[Job]:
    """List what happens every night, for each connection at its own local time."""

    def night_of(connection: Connection) -> Job:
        def run(on: date) -> str:
            return reconcile.nightly.run(house, connection, on, steps=NIGHTLY_STEPS).line

        return Job(f"nightly:{connection.name}", house.settings.nightly_at, connection.country.zone, run)

    return [night_of(connection) for connection in house.settings.all_connections]
