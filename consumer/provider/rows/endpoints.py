"""Webhook endpoints as rows."""

from consumer.facts.tables.provider import WebhookEndpoint
from consumer.provider.rows.accounts import status_only
from consumer.provider.rows.kind import Kind

KINDS = {"webhook_endpoint": Kind(WebhookEndpoint, status_only, ("webhook_endpoint",))}
