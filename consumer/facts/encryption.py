"""Encryption of what the database keeps, under the installation's secret key."""

import base64
import hashlib

from cryptography.fernet import Fernet

from consumer.facts.settings import Settings


def cipher(settings: Settings, purpose: str) -> Fernet:
    """Return encryption under a key that is derived for one purpose alone."""
    key = hashlib.sha256(f"cuadre {purpose}\0{settings.secret_key.get_secret_value()}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))
