"""The coverage table has a line for every row of the provider's specification, and every line is true."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from sandbox.api.routes import ROUTES
from sandbox.engine.faults import NAMES
from sandbox.state.events import TYPES

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "spec-coverage.md"
LINE = re.compile(r"^\| (.+?) \| `(.+?)` \| `(.+?)::(.+?)` \|$", re.MULTILINE)
OPERATIONS = (
    "PATCH /v1/webhook_endpoints/{id}",
    "GET /v2/events",
    "GET /v2/events/{id}",
    "POST /v1/payment_intents",
    "GET /v1/payment_intents",
    "POST /v2/payment_methods",
    "PATCH /v2/subscriptions/{id}",
    "DELETE /v2/subscriptions/{id}/payment_method",
    "POST /v2/subscriptions/{id}/items/{item}",
    "POST /v2/invoices/{id}/pay",
    "GET /v2/customers",
    "POST /v1/refunds/{id}/cancel",
    "POST /v2/entities",
    "GET /v1/entities",
    "POST /v2/entities/{entity}/onboardings",
    "POST /v2/accounts",
    "GET /v1/transfers/accounts",
    "POST /v2/account_numbers",
    "GET /v2/account_numbers",
    "DELETE /v2/account_numbers/{id}",
    "GET /v1/transfers",
    "POST /v2/simulate/receive_transfer",
    "GET /v1/invoices/{id}",
    "webhook endpoints: list, get, create, delete",
    "institutions: list, get",
    "checkout sessions: create, list, get, expire",
    "customers: create, get",
    "disputes: list, get, submit for review, upload document",
    "invoices: list, get, create",
    "invoices: add lines, remove lines, update line",
    "invoices: finalize, pay, void",
    "payment intents (v2): create, get, list",
    "payment intents (v2): check eligibility",
    "payment links: create, list, get, cancel",
    "payment methods: list, get",
    "payouts: get, list resources",
    "refunds: list, get, cancel",
    "refunds: voucher",
    "setup intents: get",
    "subscription items: create, update, delete",
    "subscriptions: list, get, create, update, detach payment method, cancel",
    "account numbers: get, update",
    "account statements: list",
    "account verification: create, list, get",
    "entities: get",
    "onboardings: list, get, submit",
    "onboardings: upload documents",
    "transfers: create, get",
    "transfers: return",
    "accounts: get, update",
    "movements: list, get",
    "links: list, update",
    "refresh intents: create",
    "movements of a link: list",
    "charges: create, cancel, update",
    "subscription intents: create, list",
    "fiscal: list invoices",
    "fiscal: get and list tax returns and tax statements",
)
RULES = (
    "rule 1: webhook update refusals",
    "rule 2: events per page",
    "rule 3: consent documents",
    "rule 4: detach payment method",
    "rule 5: a new method never charges",
    "rule 6: pay invoice",
    "rule 7: customers by tax id",
    "rule 8: entities by holder and status",
    "rule 9: accounts of one or all entities",
    "rule 10: account numbers",
    "rule 11: create onboarding",
    "rule 12: simulate with a test key",
    "rule 13: transfer states",
    "rule 14: confirmed movements",
)
TRANSITIONS = (
    "checkout session: created to expired",
    "dispute: waiting_documentation to in_review",
    "invoice: draft to open",
    "invoice: open to paid by a method",
    "invoice: open to paid outside the service",
    "invoice: draft or open to void",
    "subscription: created incomplete",
    "subscription: incomplete to active",
    "subscription: created active with send_invoice",
    "subscription: created trialing",
    "subscription: to canceled",
    "payment link: active to canceled",
    "mandate: pending to expired",
    "mandate: pending to active",
    "refund: created to canceled",
    "refund: created to in_progress to succeeded",
    "refund: created to failed",
    "onboarding: in_progress to submitted",
    "onboarding: rejected, waiting or approved by activity",
    "charge: pending to canceled or changed",
    "transfer: to returned, to reversed",
)
FIELDS = (
    "fields: webhook endpoint",
    "fields: event",
    "fields: error object",
    "fields: checkout session",
    "fields: customer",
    "fields: invoice",
    "fields: subscription",
    "fields: payment method",
    "fields: payment intent",
    "fields: payout",
    "fields: payout report rows",
    "fields: refund",
    "fields: dispute",
    "fields: payment link",
    "fields: charge",
    "fields: setup intent, subscription intent",
    "fields: entity",
    "fields: onboarding",
    "fields: account, account number",
    "fields: transfer",
    "fields: movement (Business Accounts)",
    "fields: movement (Movements API)",
    "fields: account statement, account verification",
    "fields: link, refresh intent",
)
LIBRARIES = (
    "business_activity within company_information",
    "a deleted endpoint or link in the answer (1.1 reads JSON of it)",
    "the signature on POST /v2/transfers, where the scenario asks for it",
    "institutions of Mexico by the number of the CLABE",
)
BINDINGS = (
    "binding 1: checkout_session.expired",
    "binding 2: split_applied",
    "binding 2: each recipient's payout of a split",
    "binding 3: public_error of refresh intents",
    "binding 4: public_error of subscription intents",
    "binding 5: payment_method.canceled and activated",
    "binding 6: invoice payment events",
    "binding 7: transfer.inbound.reversed",
    "binding 8: one payout.created and payout.succeeded per cycle",
    "binding 9: onboarding review events",
    "binding 10: delivery history",
)
REFUSALS = (
    "authentication 1: keys decide the mode",
    "authentication 2: invalid_api_key",
    "authentication 3: link_token and widget_token",
    "authentication 4: JSON Web Signature",
    "authentication 5: source addresses",
    "authentication 6: webhook signature",
    "invalid_api_key",
    "invalid_url",
    "missing_resource",
    "invalid_date",
    "missing_parameter",
    "invalid_enum",
    "mutually_exclusive_params",
    "payment_method_inactive",
    "subscription_not_editable",
    "404: other mode, deleted endpoint, foreign onboarding",
    "409: detaching a payment method",
    "422: consent documents",
    "SPEI return reasons and codes",
)
LIMITS = (
    "limit: events per page",
    "limit: split entries",
    "limit: consent documents",
    "limit: dispute document",
    "limit: onboarding document",
    "limit: secret API keys",
    "limit: mandate confirmation window",
    "limit: refund voucher life",
    "limit: refund insufficient balance",
    "limit: trial end",
    "pagination: page and per_page",
    "pagination: limit, starting_after, ending_before",
    "pagination: Link and X-Total-Count",
    "Idempotency-Key",
    "versions: pinned and named by header",
    "versions: operations that need 2026-02-01",
    "versions: mx_direct_debit renames",
)
SPECIFICATION = (*OPERATIONS, *RULES, *TRANSITIONS, *FIELDS, *BINDINGS, *REFUSALS, *LIMITS)


@cache
def lines() -> dict[str, tuple[str, str, str]]:
    """Row, where it lives, the file and the name of its test."""
    return {row: (where, file, test) for row, where, file, test in LINE.findall(TABLE.read_text())}


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / "sandbox" / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", SPECIFICATION)
def test_every_row_of_the_specification_has_a_line(row: str) -> None:
    """Operations, rules, transitions, fields, bindings, authentication, errors, limits, versions."""
    assert row in lines()


@pytest.mark.parametrize("row", LIBRARIES)
def test_what_only_the_client_libraries_show_has_a_line(row: str) -> None:
    """Beyond routes and event types."""
    assert row in lines()


def test_every_route_event_type_and_fault_has_a_line() -> None:
    """Whatever the sandbox answers, announces or does wrong is in the table."""
    built = {f"{route.method} {route.path}" for route in ROUTES}
    built |= {*TYPES, *(f"fault {name}" for name in NAMES)}

    assert built - set(lines()) == set()


def test_no_line_is_about_nothing() -> None:
    """A row that is neither specified nor built has no business in the table."""
    known = {*SPECIFICATION, *LIBRARIES, *TYPES, *(f"fault {name}" for name in NAMES)}
    known |= {f"{route.method} {route.path}" for route in ROUTES}

    assert set(lines()) - known == set()


def test_every_line_names_what_exists() -> None:
    """The function is in its module and the test in its file."""
    for row, (where, file, test) in lines().items():
        module, _, name = where.rpartition(".")
        assert hasattr(import_module(module), name), f"{row}: {where}"
        assert test in names_in(file), f"{row}: {file}::{test}"
