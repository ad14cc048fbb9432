"""Links to external bank accounts, those accounts and their movements."""

from consumer.provider import routes
from consumer.provider.client import Provider
from consumer.sync.streams.stream import Again, Part, Stream, ids_of, lists, of_each_link


def _of_each_linked_account(provider: Provider) -> list[Part]:
    return [
        Part(f"{link.name} {id_}", routes.LINK_MOVEMENTS, ids={"account": id_}, link=link.link, account_id=id_)
        for link in of_each_link(routes.LINK_ACCOUNTS)(provider)
        for id_ in ids_of(provider, link)
    ]


STREAMS = (
    Stream("links", "link", lists(routes.LINKS), unstable=frozenset({"accounts"})),  # null in lists
    Stream("link-accounts", "link_account", of_each_link(routes.LINK_ACCOUNTS), by_link=True),
    Stream(
        "link-movements",
        "link_movement",
        _of_each_linked_account,
        Again.DAYS,
        by_link=True,
        # Without it the list leaves out what the bank has not confirmed and what it took back.
        query={"confirmed_only": "false"},
        dated="post_date",
    ),
)
