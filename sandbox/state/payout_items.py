"""What each payout is made of: its resources, what each brings and what is taken for it."""

from collections.abc import Iterator

import msgspec

from sandbox.state.collection import Object
from sandbox.state.store import Store, to_key


class PayoutItems:
    """The resources of payouts, in the order they were put in."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, item: Object) -> None:
        self._store.write(
            "INSERT INTO payout_items (payout, type, resource, body) VALUES (?, ?, ?, ?)",
            to_key(item["payout"]),
            item["resource_type"],
            to_key(item["resource"]),
            msgspec.json.encode(item),
        )

    def __getitem__(self, payout: str) -> list[Object]:
        rows = self._store.rows("SELECT body FROM payout_items WHERE payout = ? ORDER BY position", to_key(payout))
        return [msgspec.json.decode(body) for (body,) in rows]

    def newest_first(self, payout: str, type_: str) -> list[str]:
        """The ids of the resources of one type."""
        asked = "SELECT resource FROM payout_items WHERE payout = ? AND type = ? ORDER BY position DESC"
        return [resource.decode() for (resource,) in self._store.rows(asked, to_key(payout), type_)]

    def items(self) -> Iterator[tuple[str, list[Object]]]:
        """Every payout with its resources."""
        payouts = [row[0].decode() for row in self._store.rows("SELECT DISTINCT payout FROM payout_items")]
        return ((payout, self[payout]) for payout in payouts)

    def values(self) -> Iterator[list[Object]]:
        return (some for _, some in self.items())
