"""Every stream that `cuadre pull` knows, in the order in which `all` reads them."""

from consumer.sync.streams import accounts, billing, directory, fiscal, links, payments, payouts
from consumer.sync.streams.stream import Stream

STREAMS: dict[str, Stream] = {
    stream.name: stream
    for family in (payouts, payments, billing, accounts, links, fiscal, directory)
    for stream in family.STREAMS
}
# What a payout of the running day is made of.
CUT_STREAMS = ("payouts", "payment-intents", "charges", "refunds", "disputes", "transfers", "account-movements")
