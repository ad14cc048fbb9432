"""Sign and verify as the provider's Python library does: JSON in, JSON out."""

import json
import sys

from fintoc.errors import WebhookSignatureError
from fintoc.webhook import WebhookSignature


def verify(body: str, header: str, secret: str) -> str:
    try:
        WebhookSignature.verify_header(body, header, secret)
    except WebhookSignatureError:
        return "refused"
    return "taken"


asked = json.load(sys.stdin)
signed = [WebhookSignature._compute_signature(each["body"], each["t"], each["secret"]) for each in asked["sign"]]
verified = [verify(each["body"], each["header"], each["secret"]) for each in asked["verify"]]
json.dump({"sign": signed, "verify": verified}, sys.stdout)
