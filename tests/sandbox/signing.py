"""An organization's key pair, and signatures made as the provider's own client libraries make them."""

import base64
import json
import secrets
import time
from typing import Any

import httpx
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def sign(body: bytes, **claims: Any) -> str:
    """A signature of this body, made now and under a nonce of its own unless the claims say otherwise."""

    def encode(raw: bytes) -> str:
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    header = {"alg": "RS256", "nonce": secrets.token_hex(16), "ts": int(time.time()), "crit": ["ts", "nonce"], **claims}
    protected = encode(json.dumps(header).encode())
    signed = f"{protected}.{encode(body)}".encode()
    return f"{protected}.{encode(KEY.sign(signed, padding.PKCS1v15(), hashes.SHA256()))}"


def post_signed(client: httpx.Client, path: str, body: dict[str, Any], signature: str | None = None) -> httpx.Response:
    raw = json.dumps(body).encode()
    return client.post(path, content=raw, headers={"Fintoc-JWS-Signature": signature or sign(raw)})


def register_key(client: httpx.Client) -> None:
    """Let the provider know the organization's public key."""
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = KEY.public_key().public_bytes(serialization.Encoding.PEM, kind).decode()
    assert client.put("/_sandbox/jws_key", json={"public_key": pem}).status_code == 200
