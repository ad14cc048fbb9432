"""The sandbox's tax papers as satcfdi and cl-sii read them, against what is read here, figure by figure."""

import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from consumer.facts.money import format_decimal
from reconcile.books.tax_documents import TaxDocument
from reconcile.books.tax_xml import read_tax_xml
from sandbox.serve import create_sandbox
from tests.clients.conftest import Install, Library

# Of satcfdi no more than its reader needs: all it asks for is 177 MB.
SATCFDI = Library("satcfdi 26.10.1", ("--no-deps", "satcfdi==26.10.1", "lxml", "pyOpenSSL", "cryptography", "cffi",
                                      "pycparser", "pytz", "typing_extensions"))  # fmt: skip
CL_SII = Library("cl-sii 0.79.0", ("cl-sii==0.79.0",))
MEXICO = ZoneInfo("America/Mexico_City")


def hand_out(scenario: str, path: Path) -> list[TaxDocument]:
    """Write the sandbox's papers into an archive, and return them as they are read here."""
    app = create_sandbox(scenario, seed=7)
    with httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://sandbox.test") as client:
        path.write_bytes(client.get("/_sandbox/invoices.xml.zip").content)
    app.world.close()
    return list(_read(path))


def _read(path: Path) -> Iterator[TaxDocument]:
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        for name in archive.namelist():
            for found in read_tax_xml(archive.read(name)):
                assert isinstance(found, TaxDocument), str(found)
                yield found


def in_mexico(one: TaxDocument) -> dict[str, Any]:
    """Return the figures that satcfdi states, as it states them."""
    return {
        "kind": one.kind, "issuer": one.issuer_tax_id, "receiver": one.receiver_tax_id,
        "total": Decimal(one.total).scaleb(-2), "vat": Decimal(one.vat).scaleb(-2),
        "relations": sorted([said.kind, said.other_number] for said in one.relations),
        "payments": [
            [part.paid_at.astimezone(MEXICO).replace(tzinfo=None).isoformat(), part.payment_form,
             format_decimal(part.amount, "MXN"), part.operation, part.paid_uuid, part.instalment,
             *(format_decimal(amount, "MXN") for amount in (part.balance_before, part.paid, part.balance_after))]
            for part in one.payments
        ],
    }  # fmt: skip


def test_satcfdi_reads_the_same_figures(install: Install, tmp_path: Path) -> None:
    """Totals, VAT, relations, and every instalment of every complement."""
    ours = {one.uuid: in_mexico(one) for one in hand_out("tax-mx", tmp_path / "papers.zip")}
    theirs = SATCFDI.run(install(SATCFDI), "tax_readers", "mx", str(tmp_path / "papers.zip"))
    read = {
        uuid: {**said, "total": Decimal(said["total"]), "vat": sum((Decimal(one) for one in said["vat"]), Decimal(0))}
        for uuid, said in theirs
    }
    assert len(read) == len(theirs) > 50
    assert {one["kind"] for one in read.values()} == {"I", "E", "P"}
    assert read == ours


def test_cl_sii_reads_the_same_figures(install: Install, tmp_path: Path) -> None:
    """Parties, total and days of what it reads; receipts, settlements and what has no namespace it refuses."""
    ours = {
        f"{one.kind}:{one.folio}": {
            "issuer": one.issuer_tax_id, "receiver": one.receiver_tax_id, "total": str(one.total),
            "on": one.issue_date.isoformat(), "due_on": one.due_date and one.due_date.isoformat(),
        }
        for one in hand_out("tax-cl", tmp_path / "papers.zip")
    }  # fmt: skip
    theirs = CL_SII.run(install(CL_SII), "tax_readers", "cl", str(tmp_path / "papers.zip"))
    read = {name: said for name, said in theirs if name != "refused"}
    assert len(read) > 30
    assert read == {name: ours[name] for name in read}
    refused = Counter(said["error"] for name, said in theirs if name == "refused")
    assert sum(refused.values()) == len(ours) - len(read)
    assert {error.partition(":")[0] for error in refused} <= {"ValueError", "NotImplementedError"}


@pytest.mark.parametrize("library", [SATCFDI, CL_SII], ids=lambda library: library.name)
def test_the_document_names_the_versions(library: Library) -> None:
    """Differences are written down for these versions."""
    text = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
    assert f"`{library.name}`" in text
