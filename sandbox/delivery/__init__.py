"""Webhooks on their way: what is due, how it is signed, what came back."""
