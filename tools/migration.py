"""Write a migration for what the declared tables have and the last migration has not.

    make migration NAME=ledgers

numbers it after the last one. Read it before you commit it: Alembic sees tables, columns and indexes, but no data.
"""

import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from alembic import command

from consumer.facts.migrating import alembic_config
from consumer.facts.schema import VERSIONS, upgrade
from consumer.facts.store import Store

if __name__ == "__main__":
    import_module("app")  # which loads every table
    with TemporaryDirectory() as folder:
        store = Store(f"sqlite:///{Path(folder) / 'cuadre.db'}")
        upgrade(store)
        with store.connection() as connection:
            config = alembic_config(connection)
            config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
            command.revision(config, sys.argv[1], autogenerate=True, rev_id=f"{int(VERSIONS[-1]) + 1:04}")
