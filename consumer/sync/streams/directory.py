"""The provider's directory of institutions, and the webhook endpoints we have there."""

from consumer.provider import routes
from consumer.sync.streams.stream import Stream, lists

STREAMS = (
    Stream("institutions", "institution", lists(routes.INSTITUTIONS)),
    Stream("webhook-endpoints", "webhook_endpoint", lists(routes.WEBHOOK_ENDPOINTS)),
)
