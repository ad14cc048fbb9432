"""How the provider signs a webhook."""

import hashlib
import hmac


def sign(secret: str, body: bytes, timestamp: int) -> str:
    """The value of the signature header: the time in seconds and the digest over time, full stop and raw body."""
    signed = f"{timestamp}.".encode() + body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"
