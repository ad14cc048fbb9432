"""Proof on paper: sealed, signed where there is a key, and every changed byte refused."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from flask.testing import FlaskClient
from sqlmodel import select

from consumer.facts.installation import Installation
from cuadre import Commands
from reconcile.tables.desk import Attachment, ExceptionRow
from reconcile.tables.runs import PayoutResult
from reports.packs import proofs
from reports.packs.manifest import to_text
from reports.packs.proofs import Asked, ProofError, Subject, prove
from reports.packs.verifying import ChangedError, verify
from reports.queries import bank, frames, standing
from reports.queries.names import name_merchant
from reports.shapes.spans import Span
from tests.merchant import settings_of
from tests.reconcile.conftest import World
from tests.reports.pages.looking import text_of

AT = datetime(2026, 10, 9, 12, tzinfo=UTC)
TODAY = date(2026, 10, 8)


def make(installation: Installation, subject: Subject, language: str = "es-CL") -> bytes:
    connection = installation.settings.connection("main")
    with installation.store.reading() as session:
        (run,) = frames.latest_runs(session, ["main"], today=TODAY)
        return prove(installation, session, run, connection, Asked(subject, language, AT))


def test_a_proof_lists_the_files_of_its_exceptions(reconciled: Installation) -> None:
    """Who added which file to an exception about its lines, with the digest of the file."""
    with reconciled.store.transaction() as session:
        session.add(Attachment(connection="main", exception_id="00aa00aa00aa00aa", name="recibo.pdf", size=5,
                               sha256="f00d" * 16, who="ana@tienda.test", at=AT))  # fmt: skip
    text = make(reconciled, Subject(payout_id="po_1")).decode("latin-1")
    assert [word for word in ("Archivos", "recibo.pdf", "f00d" * 16) if word not in text] == []


@pytest.mark.parametrize(
    ("subject", "is_told"),
    [
        (Subject(payout_id="po_1"), True),
        (Subject(span=Span(date(2026, 10, 1), date(2026, 10, 31))), True),
        (Subject(customer="11111111-1"), False),
    ],
)
def test_a_proof_tells_what_is_wrong_with_the_payout_itself(
    reconciled: Installation, subject: Subject, *, is_told: bool
) -> None:
    """A deposit that never came is on the payout's proof and on that of its days, and on no customer's."""
    with reconciled.store.transaction() as session:
        session.add(ExceptionRow(
            id="00bb00bb00bb00bb", connection="main", code="PAYOUT_NOT_IN_BANK", severity="high",
            subject="payout:po_1", title="", state="open", payout_id="po_1", currency="CLP", amount_at_risk=987_654,
            opened_on=TODAY, last_seen_on=TODAY, fact_on=TODAY, run_first="r1", run_last="r42",
        ))  # fmt: skip
    assert ("po_1: 987.654 CLP" in make(reconciled, subject).decode("latin-1")) is is_told


@pytest.fixture
def signing(reconciled: Installation, tmp_path: Path) -> tuple[Installation, str]:
    """The made-up run of a merchant with a signing key, and its public key."""
    key = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode().strip()
    settings = settings_of("http://provider.test", tmp_path, signing_key=pem)
    return replace(reconciled, settings=settings), to_text(key.public_key())


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (Subject(payout_id="po_1"), ["po_1", "pi_1", "pi_2", "Comercial"]),
        (Subject(customer="11111111-1"), ["11.111.111-1", "pi_1"]),
        (Subject(span=Span(date(2026, 10, 1), date(2026, 10, 31))), ["01-10-2026", "pi_1", "pi_2"]),
    ],
)
def test_a_proof_names_its_lines_and_its_bytes_are_always_the_same(
    reconciled: Installation, subject: Subject, words: list[str]
) -> None:
    """Of a payout, a customer or some days; made again at the same moment it is the same file."""
    content = make(reconciled, subject)
    assert content == make(reconciled, subject)
    text = content.decode("latin-1")
    assert [word for word in (*words, "run-1", "09-10-2026") if word not in text] == []


def test_every_changed_byte_is_refused(reconciled: Installation, tmp_path: Path) -> None:
    """Each tenth byte changed in turn; the whole file as it was made proves that none did."""
    content, path = make(reconciled, Subject(payout_id="po_1")), tmp_path / "a.pdf"
    path.write_bytes(content)
    assert "no byte of the PDF changed" in str(verify(path).to_message("a.pdf"))
    for place in range(0, len(content), max(1, len(content) // 100)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ChangedError):
            verify(path)


def test_a_signed_proof_says_whose_key_it_is(signing: tuple[Installation, str], tmp_path: Path) -> None:
    """The expected key is confirmed, another one and a missing signature are refused."""
    installation, public = signing
    path = tmp_path / "a.pdf"
    path.write_bytes(make(installation, Subject(payout_id="po_1")))
    assert verify(path).key == public
    assert verify(path, key=public).is_expected_key
    with pytest.raises(ChangedError, match=r"signed with"):
        verify(path, key=to_text(Ed25519PrivateKey.from_private_bytes(b"j" * 32).public_key()))


def test_what_cannot_be_proved_is_a_sentence(reconciled: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown payout, and more lines than paper is good for."""
    with pytest.raises(ProofError, match="the newest run holds no line of po_9"):
        make(reconciled, Subject(payout_id="po_9"))
    monkeypatch.setattr(proofs, "_MOST_LINES", 1)
    with pytest.raises(ProofError, match="more than 1 lines"):
        make(reconciled, Subject(payout_id="po_1"))


def test_the_command_writes_a_file_that_verifies(reconciled: Installation, tmp_path: Path) -> None:
    """`cuadre proof` names its file; without a subject it says what to give."""

    def call(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(Commands(), list(words), obj=lambda: reconciled)
        return result.exit_code, result.output

    out = tmp_path / "a.pdf"
    assert call("proof", "--payout", "po_1", "--out", str(out)) == (0, f"{out}\n")
    assert call("verify", str(out))[0] == 0
    assert call("proof")[0] == 2


def test_what_to_prove_is_chosen_by_name_and_the_merchant_stands_under_its_own(
    reconciled: Installation, client: FlaskClient
) -> None:
    """The page names payouts by day and amount; the PDF begins with the legal name that the settings give."""
    page = client.get("/proof")
    text = page.get_data(as_text=True)
    assert page.status_code == 200
    assert '<option value="po_1">' in text
    assert 'action="/proof/main.pdf"' in text
    assert client.get("/proof?payout=po_1").status_code == 400
    assert client.get("/proof/main.pdf?customer=11.111.111-1").mimetype == "application/pdf"
    connection = reconciled.settings.connection("main").model_copy(update={"legal_name": "Panadería Río Claro SpA"})
    assert name_merchant(connection, "es-CL").startswith("Panadería Río Claro SpA · main")


def test_the_address_refuses_what_it_does_not_know(client: FlaskClient) -> None:
    """Another parameter or payout is a sentence, an unknown connection is not there."""
    assert client.get("/proof/main.pdf?payout=po_1").mimetype == "application/pdf"
    assert client.get("/proof/main.pdf?payout=po_9").status_code == 400
    assert client.get("/proof/main.pdf?run=42").status_code == 400
    assert client.get("/proof/main.pdf").status_code == 400
    assert client.get("/proof/other.pdf?payout=po_1").status_code == 404


@pytest.fixture
def banked(installation: Installation) -> Installation:
    """Two payouts: the money of the first came alone, that of the second late and short."""
    world = World(installation.store)
    for number, amount in ((1, 1000), (2, 5000)):
        world.payment(f"pi_{number}", amount)
        world.payout(f"po_{number}", amount, ("payment_intent", f"pi_{number}", amount))
    world.invoice("7", 1000, order_ref="PED-1", customer_name="Panadería Río Claro", customer_tax_id="78123456-7")
    world.invoice("8", 900, order_ref="PED-2", customer_name="Pan y Miel", customer_tax_id="76192083-9")
    world.bank_file("00012345678", (date(2026, 9, 11), 1000), (date(2026, 9, 25), 4900))
    world.complete(datetime(2026, 9, 29, 6, tzinfo=UTC))
    called(installation, "reconcile", "--as-of", "2026-09-28")
    return installation


def called(installation: Installation, *words: str) -> Result:
    result = CliRunner().invoke(Commands(), list(words), obj=lambda: installation)
    assert result.exit_code == 0, result.output
    return result


def proven(installation: Installation, folder: Path, *words: str) -> str:
    called(installation, "proof", *words, "--out", str(folder / "a.pdf"))
    return (folder / "a.pdf").read_bytes().decode("latin-1")


def test_the_proof_of_a_payout_has_its_line_of_the_bank(banked: Installation, tmp_path: Path) -> None:
    """From gross to the net that was paid, the line that brought it or that none did, and ties by hand at once."""
    first = proven(banked, tmp_path, "--payout", "po_1")
    assert [word for word in ("1.000 CLP", "11-09-2026", "5678", "Monto liquidado") if word not in first] == []
    second = proven(banked, tmp_path, "--payout", "po_2")
    assert "ninguna trajo esta liquidaci" in second
    with banked.store.reading() as session:
        (run,) = frames.latest_runs(session, ["main"], today=date(2026, 9, 28))
        (free,) = bank.find_free_lines(session, run, standing.find_payout(session, [run], "po_2") or {}, {})
    called(banked, "match", "po_2", free["movement_id"], "--reason", "el banco lo confirma", "--author", "ana")
    tied = proven(banked, tmp_path, "--payout", "po_2")
    words = ("la siguiente cuenta con", "4.900 CLP", "25-09-2026", "ana", "el banco lo confirma", "cuenta desde la pr")
    assert [word for word in words if word not in tied] == []
    called(banked, "reconcile", "--as-of", "2026-09-28")
    counted = proven(banked, tmp_path, "--payout", "po_2")
    assert [word for word in (*words[1:5], "Vinculado por") if word not in counted] == []
    assert "la siguiente cuenta con" not in counted


def test_a_customer_is_meant_by_tax_id_name_or_folio(banked: Installation, tmp_path: Path) -> None:
    """One that is meant is proven by what was paid on their documents; several and none are a sentence with names."""
    for text in ("78.123.456-7", "río claro", "7"):
        assert "78.123.456-7" in proven(banked, tmp_path, "--customer", text)
    refused = {
        text: CliRunner().invoke(Commands(), ["proof", "--customer", text], obj=lambda: banked).stderr
        for text in ("pan", "Nadie")
    }
    assert (
        "may be one of several customers: Pan y Miel (76.192.083-9), Panadería Río Claro (78.123.456-7)"
        in refused["pan"]
    )
    assert "no customer Nadie in connection main" in refused["Nadie"]


def test_a_returned_payout_awaits_no_deposit_and_its_items_no_document(
    reconciled: Installation, client: FlaskClient
) -> None:
    """Page and proof say that another payout pays its items, and count no documents that none of its rows names."""
    with reconciled.store.transaction() as session:
        row = session.scalars(select(PayoutResult).where(PayoutResult.payout_id == "po_1")).one()
        returned = {"status": "returned", "status_recon": "returned", "bank_date": None, "bank_movement_id": None}
        row.columns = json.dumps({**json.loads(row.columns), **returned})
    page = text_of(client, "/payouts/po_1")
    assert "sus movimientos cuentan donde otra liquidación los paga" in page
    assert "Devuelta no se espera depósito" in page
    assert "tienen su documento" not in page
    assert "donde otra liquidación lo paga" in page
    assert "donde otra" in make(reconciled, Subject(payout_id="po_1")).decode("latin-1")
