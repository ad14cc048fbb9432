"""Onboardings: data, documents, submission and the simulated review."""

from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import PDF, Object, advance, make, read, refusal, told

HOUR = 3600


DATA: Object = {
    "company_information": {"name": "Otra"},
    "legal_representatives": [{"name": "Ana"}],
    "business_activity": "books",
}


def onboard(client: httpx.Client, **data: Any) -> tuple[str, Object]:
    """An entity in draft and its onboarding with one document."""
    made = make(client, "/v2/entities", holder_id="77.111.222-3", holder_name="Otra", country_code="cl")
    path = f"/v2/entities/{made['id']}/onboardings"
    onboarding = make(client, path, type="account_holder", data={**DATA, **data})
    path = f"{path}/{onboarding['id']}"
    answer = client.post(f"{path}/documents", data={"slot_key": "bylaws"}, files={"file": ("a.pdf", PDF)})
    assert answer.status_code == 201, answer.text
    return path, onboarding


@pytest.mark.parametrize(
    ("activity", "status", "events"),
    [
        ("books", "approved", ["entity.onboarding.approved"]),
        ("illegal", "rejected", ["entity.onboarding.rejected"]),
        ("suspicious", "submitted", []),
        ("Illegal", "approved", ["entity.onboarding.approved"]),
    ],
)
def test_the_simulated_review_follows_the_activity(
    bank: httpx.Client, activity: str, status: str, events: list[str]
) -> None:
    """Exactly `illegal` is rejected, exactly `suspicious` waits, anything else is approved."""
    path, onboarding = onboard(bank, business_activity=activity)
    assert bank.post(f"{path}/submit").json()["status"] == "submitted"

    advance(bank, 60)

    assert read(bank, path)["status"] == status
    assert told(bank, onboarding["id"]) == events


def test_a_submitted_onboarding_is_closed(bank: httpx.Client) -> None:
    """Neither documents nor a second submission are taken."""
    path, _ = onboard(bank)
    bank.post(f"{path}/submit")

    upload = bank.post(f"{path}/documents", data={"slot_key": "bylaws"}, files={"file": ("a.pdf", PDF)})
    assert refusal(upload) == (409, "invalid_onboarding_status", "id")
    assert refusal(bank.post(f"{path}/submit")) == (409, "invalid_onboarding_status", "id")


def test_documents_go_into_slots(bank: httpx.Client) -> None:
    """A second file replaces the first of its slot; people have slots of their own."""
    path, _ = onboard(bank)
    file = {"file": ("b.pdf", PDF)}
    bank.post(f"{path}/documents", data={"slot_key": "bylaws"}, files=file)
    bank.post(f"{path}/legal_representatives/0/documents", files=file)
    bank.post(f"{path}/shareholders/1/documents", files=file)

    found = [(row["slot_key"], row["filename"]) for row in read(bank, path)["documents"]]

    assert found == [("bylaws", "b.pdf"), ("legal_representatives.0", "b.pdf"), ("shareholders.1", "b.pdf")]
    bad = bank.post(f"{path}/documents", data={"slot_key": "bylaws"}, files={"file": ("b.txt", b"text")})
    assert refusal(bad) == (422, "invalid_document", "file")
    huge = bank.post(f"{path}/shareholders/1/documents", files={"file": ("c.pdf", PDF + bytes(30_000_000))})
    assert refusal(huge) == (422, "invalid_document", "file")
    assert refusal(bank.post(f"{path}/documents", files=file)) == (400, "missing_parameter", "slot_key")


def test_what_an_onboarding_needs(bank: httpx.Client) -> None:
    """Type and data at creation; its own entity; complete data and documents to submit."""
    path = "/v2/entities/ent_cl/onboardings"
    assert refusal(bank.post(path, json={"data": DATA})) == (400, "missing_parameter", "type")
    assert refusal(bank.post(path, json={"type": "account_holder"})) == (400, "missing_parameter", "data")
    assert refusal(bank.post(path, json={"type": "friend", "data": DATA})) == (400, "invalid_enum", "type")
    bare = make(bank, path, type="account_holder", data={"company_information": {"name": "x"}})

    assert refusal(bank.post(f"{path}/{bare['id']}/submit"))[2] == "data.legal_representatives"
    full = make(bank, path, type="account_holder", data=DATA)
    assert refusal(bank.post(f"{path}/{full['id']}/submit"))[2] == "documents"
    assert refusal(bank.get(f"/v2/entities/ent_mx/onboardings/{bare['id']}"))[0] == 404
    assert [row["id"] for row in read(bank, path)] == [full["id"], bare["id"]]
