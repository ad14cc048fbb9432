"""Every stream that `cuadre pull` knows, in the order in which `all` reads them."""

from consumer.sync.streams import accounts, billing, directory, fiscal, links, payments, payouts
from consumer.sync.streams.stream import Stream

STREAMS: dict[str, Stream] = {
    stream.name: stream
    for family in (payouts, payments, billing, accounts, links, fiscal, directory)
    for stream in family.STREAMS
}
