"""Legal holders and their review, verified accounts, and the banks the provider knows."""

from datetime import datetime, timedelta

from sandbox.scenarios.chance import Chance
from sandbox.scenarios.institutions import NAMES, country_of, institution_of
from sandbox.scenarios.people import (
    ACCOUNT_TYPES,
    Merchant,
    Person,
    to_millis,
    to_object,
    to_provider_tax_id,
    to_seconds,
)
from sandbox.state.happening import Happening
from sandbox.state.store import Object


def to_entity(entity_id: str, name: str, tax_id: str, country: str, *, status: str, is_root: bool) -> Object:
    """Return a legal holder."""
    return to_object(
        "entity",
        entity_id,
        country_code=country,
        holder_id=to_provider_tax_id(tax_id),
        holder_name=name,
        status=status,
        is_root=is_root,
    )


def found_entity(entity_id: str, merchant: Merchant, at: datetime) -> list[Happening]:
    """Return the merchant's own holder, there from the beginning."""
    own = to_entity(entity_id, merchant.name, merchant.tax_id, merchant.country, status="operational", is_root=True)
    return [Happening(at, "entities", own)]


def admit_seller(entity_id: str, seller: Person, country: str, chance: Chance, at: datetime) -> list[Happening]:
    """Return a seller under review, approved a day later, operational since."""
    draft = to_entity(entity_id, seller.name, seller.tax_id, country, status="under_review", is_root=False)
    sent = to_object(
        "onboarding",
        chance.id("onb"),
        entity_id=entity_id,
        type="account_holder",
        status="submitted",
        data={"business_activity": "venta de artesanía", "company_information": {"name": seller.name}},
        created_at=to_millis(at),
        updated_at=to_millis(at + timedelta(hours=2)),
    )
    reviewed_at = at + timedelta(days=1, minutes=chance.whole(1, 300))
    approved = sent | {"status": "approved", "updated_at": to_millis(reviewed_at)}
    return [
        Happening(at, "entities", draft),
        Happening(at, "onboardings", sent | {"status": "in_progress", "updated_at": to_millis(at)}),
        Happening(at + timedelta(hours=2), "onboardings", sent),
        Happening(reviewed_at, "onboardings", approved, "entity.onboarding.approved"),
        Happening(reviewed_at, "entities", draft | {"status": "operational"}),
    ]


def verify_account(payee: Person, country: str, chance: Chance, at: datetime, *, works: bool) -> list[Happening]:
    """Return a micro-deposit that proves an account, or finds it closed."""
    pending = to_object("account_verification", chance.id("accv"),
status="pending",
        reason=None,
        transfer_id=chance.id("tr", 27),
        counterparty={"holder_id": to_provider_tax_id(payee.tax_id), "holder_name": payee.name,
                         "account_number": payee.account, "account_type": ACCOUNT_TYPES[country],
                         "institution": institution_of(country, payee.account, payee.institution)},
        receipt_url=None,
        transaction_date=to_seconds(at),
    )  # fmt: skip
    ended_at = chance.later(at, 5, 90)
    end = {"status": "succeeded"} if works else {"status": "failed", "reason": "invalid_recipient_account"}
    event = f"account_verification.{end['status']}"
    return [
        Happening(at, "account_verifications", pending),
        Happening(ended_at, "account_verifications", pending | end, event),
    ]


def tell_institutions(at: datetime) -> list[Happening]:
    """Return all of them, there from the beginning."""
    return [
        Happening(at, "institutions", to_object("institution", id_, mode=mode, name=name, country=country_of(id_)))
        for mode in ("test", "live")
        for id_, name in NAMES.items()
    ]
