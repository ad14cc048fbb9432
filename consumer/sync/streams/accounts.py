"""Business accounts: holders, accounts, their numbers, movements, statements, verifications and transfers."""

from collections.abc import Callable
from datetime import timedelta

from consumer.provider import routes
from consumer.provider.client import Provider
from consumer.provider.routes import Collection
from consumer.sync import balances
from consumer.sync.streams.stream import Again, Part, Stream, ids_of, lists

# A Mexican inbound transfer can be returned up to 90 days later.
_RETURNABLE = timedelta(days=92)


def _of_each_account(collection: Collection) -> Callable[[Provider], list[Part]]:
    def parts(provider: Provider) -> list[Part]:
        accounts = ids_of(provider, Part("accounts", routes.ACCOUNTS))
        return [Part(id_, collection, ids={"account": id_}, account_id=id_) for id_ in accounts]

    return parts


STREAMS = (
    Stream(
        "transfers", "transfer", lists(routes.TRANSFERS), Again.MOMENTS, lookback=_RETURNABLE, dated="transaction_date"
    ),
    Stream("accounts", "account", lists(routes.ACCOUNTS)),
    Stream("account-numbers", "account_number", lists(routes.ACCOUNT_NUMBERS)),
    Stream(
        "account-movements",
        "account_movement",
        _of_each_account(routes.ACCOUNT_MOVEMENTS),
        Again.MOMENTS,
        dated="transaction_date",
        look_over=balances.running_balances,
    ),
    Stream(
        "account-statements",
        "account_statement",
        _of_each_account(routes.ACCOUNT_STATEMENTS),
        unstable=frozenset({"download_url"}),  # signed anew for every reader
        look_over=balances.statement_sums,
    ),
    Stream("account-verifications", "account_verification", lists(routes.ACCOUNT_VERIFICATIONS)),
    Stream("entities", "entity", lists(routes.ENTITIES)),
)
