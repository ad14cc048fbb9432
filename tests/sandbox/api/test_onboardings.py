"""Onboardings: data, documents, submission and the simulated review."""

from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import PDF, Object, advance, event_types, make, read, refusal

DATA: Object = {
    "company_information": {"name": "Otra"},
    "legal_representatives": [{"first_name": "Ana"}],
    "shareholders": [{"name": "Beto"}, {"name": "Cruz"}],
    "business_activity": "books",
}


def onboard(client: httpx.Client, **data: Any) -> tuple[str, Object]:
    """An entity in draft and its onboarding with one document."""
    made = make(client, "/v2/entities", holder_id="77.111.222-3", holder_name="Otra", country_code="cl")
    path = f"/v2/entities/{made['id']}/onboardings"
    onboarding = make(client, path, type="account_holder", data={**DATA, **data})
    path = f"{path}/{onboarding['id']}"
    answer = client.put(f"{path}/documents/bylaws", files={"file": ("a.pdf", PDF)})
    assert answer.status_code == 200, answer.text
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
    assert event_types(bank, onboarding["id"]) == events


def test_the_activity_may_stand_in_the_companys_information(bank: httpx.Client) -> None:
    """As the client libraries send it; without any the onboarding is not complete."""
    path, _ = onboard(bank, business_activity=None, company_information={"business_activity": "illegal"})
    assert bank.post(f"{path}/submit").status_code == 200

    advance(bank, 60)

    assert read(bank, path)["status"] == "rejected"
    silent = make(bank, path.rpartition("/")[0], type="account_holder", data={**DATA, "business_activity": None})
    refused = bank.post(f"{path.rpartition('/')[0]}/{silent['id']}/submit")
    assert refusal(refused)[2] == "data.business_activity"


def test_a_submitted_onboarding_is_closed(bank: httpx.Client) -> None:
    """Neither documents nor a second submission are taken."""
    path, _ = onboard(bank)
    bank.post(f"{path}/submit")

    upload = bank.put(f"{path}/documents/bylaws", files={"file": ("a.pdf", PDF)})
    assert refusal(upload) == (409, "invalid_onboarding_status", "id")
    assert refusal(bank.post(f"{path}/submit")) == (409, "invalid_onboarding_status", "id")


def test_documents_go_into_slots(bank: httpx.Client) -> None:
    """A second file replaces the first of its slot; each person has slots of their own."""
    path, onboarding = onboard(bank)
    file = {"file": ("b.pdf", PDF)}
    ana, cruz = onboarding["legal_representatives"][0]["id"], onboarding["shareholders"][1]["id"]

    bank.put(f"{path}/documents/bylaws", files=file)
    bank.put(f"{path}/legal_representatives/{ana}/documents/identification", files=file)
    changed = bank.put(f"{path}/shareholders/{cruz}/document", files=file).json()

    def slots(found: Object) -> list[tuple[str, str, str]]:
        return [(row["slot_key"], row["filename"], row["status"]) for row in found["documents"]]

    assert read(bank, path) == changed
    assert slots(changed) == [("bylaws", "b.pdf", "uploaded")]
    assert slots(changed["legal_representatives"][0]) == [("identification", "b.pdf", "uploaded")]
    assert [slots(person) for person in changed["shareholders"]] == [[], [("identification", "b.pdf", "uploaded")]]
    bad = bank.put(f"{path}/documents/bylaws", files={"file": ("b.txt", b"text")})
    assert refusal(bad) == (422, "invalid_document", "file")
    huge = bank.put(f"{path}/shareholders/{cruz}/document", files={"file": ("c.pdf", PDF + bytes(30_000_000))})
    assert refusal(huge) == (422, "invalid_document", "file")
    assert refusal(bank.put(f"{path}/documents/bylaws")) == (400, "missing_parameter", "file")
    assert refusal(bank.put(f"{path}/shareholders/{ana}/document", files=file)) == (404, "missing_resource", "id")


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
