"""The token that a form of a page must send back."""

from flask.testing import FlaskClient
from itsdangerous import URLSafeTimedSerializer


def read_token(client: FlaskClient, path: str = "/login") -> str:
    """Return a token of a page; once the browser has one, sign what its session holds, as every page would."""
    with client.session_transaction() as session:
        known = session.get("csrf_token")
    if known is not None and path == "/login":
        return str(URLSafeTimedSerializer(client.application.secret_key or "", salt="wtf-csrf-token").dumps(known))
    page = client.get(path).get_data(as_text=True)
    return page.split('name="csrf_token" value="', 1)[1].split('"', 1)[0]
