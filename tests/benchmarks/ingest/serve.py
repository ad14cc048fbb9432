"""Serves one of `servers.py` as Cuadre itself is served: python serve.py FACTORY PORT PROCESSES."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from consumer.commands.serving import listen

if __name__ == "__main__":
    listen(f"tests.benchmarks.ingest.servers:{sys.argv[1]}", "127.0.0.1", int(sys.argv[2]), processes=int(sys.argv[3]))
