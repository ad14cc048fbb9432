"""Payouts; their items follow in `consumer.sync.payout_items`."""

from consumer.provider import routes
from consumer.sync.streams.stream import Again, Stream, lists

STREAMS = (Stream("payouts", "payout", lists(routes.PAYOUTS), Again.DAYS),)
