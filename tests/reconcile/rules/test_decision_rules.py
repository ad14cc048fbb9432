"""What people decided is a constraint on every later run."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
KEY = '{"order_ref": "PED-1"}'
SHOWN = ("outcome", "match_stage", "doc_key", "applied_amount")


def _decide(case: "Case", kind: str, resource_id: str | None, doc_key: str | None, **given: int) -> None:
    number = len(case.rows["decisions"]) + 1
    case.add("decisions", kind=kind, resource_id=resource_id, doc_key=doc_key, decision_id=number, **given)


def test_a_match_decided_by_a_person_comes_before_every_rule(case: "Case") -> None:
    """Neither amount nor customer matters any more."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, sender_tax_id=BRUNO)
    _decide(case, "match", "pi_1", "cl:33::1")
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("matched", "manual", "cl:33::1", 50_000)
    assert run.found() == set()


def test_a_decided_match_overrules_a_key(case: "Case") -> None:
    """The payment goes where the person said, and the document it names stays open."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000)
    case.payment("pi_1", 50_000, metadata=KEY)
    _decide(case, "match", "pi_1", "cl:33::2")
    matched = case.match()
    assert matched.line("pi_1", "doc_key", "match_stage") == ("cl:33::2", "manual")
    assert matched.document("cl:33::1", "balance") == (50_000,)


def test_a_decided_match_of_another_amount_shows_the_difference(case: "Case") -> None:
    """Less is a part; more is a difference, which stays an exception until a person accepts it."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000)
    case.payment("pi_1", 49_000)
    case.payment("pi_2", 51_000)
    _decide(case, "match", "pi_1", "cl:33::1")
    _decide(case, "match", "pi_2", "cl:33::2")
    run = case.run()
    assert run.line("pi_1", "outcome", "difference", "doc_balance_after") == ("partial", -1_000, 1_000)
    assert run.line("pi_2", "outcome", "difference", "doc_balance_after") == ("matched_with_difference", 1_000, -1_000)
    assert run.found() == {("AMOUNT_DIFF", "resource:pi_2", 1_000)}
    evidence = run.finding("AMOUNT_DIFF").evidence
    assert (evidence["document"], evidence["open_balance"], evidence["difference"]) == ("cl:33::2", 50_000, 1_000)
    _decide(case, "adjust", None, "cl:33::2")
    assert case.run().found() == set()


def test_a_payment_matched_to_several_documents_is_a_set(case: "Case") -> None:
    """Each document takes its balance and the last one the rest."""
    case.invoice("1", 30_000)
    case.invoice("2", 40_000)
    case.payment("pi_1", 70_000)
    _decide(case, "match", "pi_1", "cl:33::1")
    _decide(case, "match", "pi_1", "cl:33::2")
    assert case.match().lines("pi_1", "outcome", "doc_key", "applied_amount") == [
        ("set", "cl:33::1", 30_000),
        ("set", "cl:33::2", 40_000),
    ]


def test_a_declined_pair_is_never_offered_again(case: "Case") -> None:
    """The only candidate is gone, whatever stage would have found it."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    case.payment("pi_2", 50_000, metadata=KEY, occurred_at="2026-10-05T15:30:00Z")
    _decide(case, "decline", "pi_1", "cl:33::1")
    _decide(case, "decline", "pi_2", "cl:33::1")
    matched = case.match()
    assert matched.line("pi_1", "outcome") == matched.line("pi_2", "outcome") == ("no_document",)


def test_a_declined_suggestion_is_not_suggested(case: "Case") -> None:
    """Suggestions respect decisions too."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000)
    _decide(case, "decline", "pi_1", "cl:33::1")
    assert case.match().line("pi_1", "outcome", "doc_key") == ("no_document", None)


def test_unmatch_frees_a_payment_for_other_candidates(case: "Case") -> None:
    """Without the pair a person undid, the payment finds the other document of its customer."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000)
    case.payment("pi_1", 50_000, metadata=KEY, sender_tax_id=ANA)
    _decide(case, "unmatch", "pi_1", "cl:33::1")
    assert case.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")


def test_unmatch_without_a_document_leaves_the_payment_to_people(case: "Case") -> None:
    """No rule matches it again."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, metadata=KEY)
    _decide(case, "unmatch", "pi_1", None)
    run = case.run()
    assert run.line("pi_1", "outcome", "match_stage") == ("no_document", "manual")
    assert run.found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 50_000)}


def test_the_later_decision_about_a_pair_holds(case: "Case") -> None:
    """A match after a decline is a match."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000)
    _decide(case, "decline", "pi_1", "cl:33::1")
    _decide(case, "match", "pi_1", "cl:33::1")
    assert case.match().line("pi_1", "outcome", "match_stage") == ("matched", "manual")


def test_an_adjustment_of_a_document_lowers_what_it_asks_for(case: "Case") -> None:
    """An accepted difference closes the document and its exception."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 48_000, metadata=KEY)
    _decide(case, "adjust", None, "cl:33::1", amount=2_000)
    run = case.run()
    assert run.found() == set()
    assert run.document("cl:33::1", "outcome", "paid", "credited", "balance") == ("paid", 48_000, 2_000, 0)


def test_an_accepted_rest_without_amount_is_whatever_is_left(case: "Case") -> None:
    """Too much or too little, the difference is accepted."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 53_000, metadata=KEY)
    _decide(case, "adjust", "pi_1", "cl:33::1")
    run = case.run()
    assert run.found() == set()
    assert run.document("cl:33::1", "outcome", "balance") == ("paid", 0)


def test_a_payment_accepted_without_a_document_is_an_adjustment(case: "Case") -> None:
    """It needs no invoice any more."""
    case.payment("pi_1", 50_000)
    _decide(case, "adjust", "pi_1", None)
    run = case.run()
    assert run.line("pi_1", "outcome", "match_stage") == ("adjustment", "manual")
    assert run.found() == set()


def test_a_decision_never_crosses_currencies(case: "Case") -> None:
    """A match of two currencies is not carried out."""
    case.invoice("1", 50_000, currency="USD")
    case.payment("pi_1", 50_000)
    _decide(case, "match", "pi_1", "cl:33::1")
    assert case.match().line("pi_1", "outcome") == ("no_document",)


def test_decisions_about_what_is_not_in_the_run_are_left_alone(case: "Case") -> None:
    """A decision outlives the rows it was about."""
    _decide(case, "match", "pi_9", "cl:33::9")
    _decide(case, "adjust", None, "cl:33::9", amount=5)
    assert case.run().found() == set()


def test_a_declined_document_is_no_rival_of_the_one_a_key_names(case: "Case") -> None:
    """Who said that the payment is not for the equal document leaves a part payment of the named one."""
    case.invoice("1", 50_000)
    case.invoice("2", 30_000)
    case.payment("pi_1", 30_000, metadata='{"order_ref": "PED-1"}', sender_tax_id=ANA)
    _decide(case, "decline", "pi_1", "cl:33::2")
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_key", "rivals") == ("partial", "cl:33::1", None)
    assert run.found() == set()


def test_a_match_with_a_document_that_became_void_names_it(case: "Case") -> None:
    """Money decided onto a document that was called off later is not silently there."""
    case.invoice("1", 50_000, status="void")
    case.payment("pi_1", 50_000)
    _decide(case, "match", "pi_1", "cl:33::1")
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_key", "applied_amount") == ("no_document", None, None)
    assert run.found() == {("PAID_CANCELLED_DOC", "resource:pi_1", 50_000)}
    assert run.document("cl:33::1", "outcome", "balance") == ("void", 0)


def test_a_match_with_a_document_that_became_void_goes_to_its_reissue(case: "Case") -> None:
    """What was issued in its place for the same customer and total takes the payment over."""
    case.invoice("1", 50_000, status="void")
    case.invoice("2", 50_000, ref_type="33", ref_number="1")
    case.payment("pi_1", 50_000)
    _decide(case, "match", "pi_1", "cl:33::1")
    run = case.run()
    assert run.line("pi_1", "outcome", "match_stage", "doc_key") == ("matched", "manual", "cl:33::2")
    assert run.found() == set()
