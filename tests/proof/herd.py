"""One client process: PORT THREADS IDS, every thread delivers every id; prints how often each answer came."""

import hashlib
import hmac
import json
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

SECRET = b"whsec_test_secret"


def deliver_all(port: int, ids: int, first: int) -> list[str]:
    """Deliver each id once over one connection, beginning with another one than the other threads do."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    answers = []
    for place in range(ids):
        number = (first + place) % ids
        data = f'{{"id":"re_{number}","amount":5,"currency":"CLP","status":"succeeded"}}'
        kind = '"type":"refund.succeeded","mode":"test","created_at":"2026-10-05T11:00:00Z"'
        body = f'{{"id":"evt_{number}",{kind},"data":{data}}}'.encode()
        at = str(int(time.time()))
        digest = hmac.new(SECRET, at.encode() + b"." + body, hashlib.sha256).hexdigest()
        connection.request("POST", "/webhooks", body, {"Fintoc-Signature": f"t={at},v1={digest}"})
        answer = connection.getresponse()
        answers.append(f"{answer.status} {json.loads(answer.read()).get('status')}")
    connection.close()
    return answers


if __name__ == "__main__":
    port, threads, ids = (int(text) for text in sys.argv[1:])
    with ThreadPoolExecutor(threads) as pool:
        found = Counter(
            answer for some in pool.map(lambda n: deliver_all(port, ids, n), range(threads)) for answer in some
        )
    print(json.dumps(found))  # noqa: T201 - the test reads it
