"""The server's address: one that is taken is refused before anything else starts."""

import socket

import pytest

from consumer.commands.serving import check_free
from consumer.commands.terminal import CommandError
from tests.ports import free_port


def test_a_port_that_is_taken_is_refused_by_name() -> None:
    """Two servers on one port would share its webhooks, so the second does not start."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(CommandError) as refusal:
            check_free("127.0.0.1", port)

    assert refusal.value.exit_code == 1
    assert refusal.value.message == (
        f"cannot listen on 127.0.0.1:{port}: the address is in use already; choose another --port or --host"
    )


def test_a_free_port_stays_free() -> None:
    """Looking does not take the address away from the server that comes after."""
    port = free_port()

    check_free("127.0.0.1", port)
    check_free("127.0.0.1", port)
