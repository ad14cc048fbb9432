"""The damages that are measured, by the words the account uses."""

from tests.benchmarks.accuracy import book_noise as books
from tests.benchmarks.accuracy import payment_noise as payments
from tests.benchmarks.accuracy.noise import Noise

TABLES: dict[str, Noise] = {
    "a quarter of the metadata lost": payments.lose_metadata,
    "a third of the tax ids lost": payments.lose_tax_ids,
    "a digit of a tenth of the orders wrong": payments.mistype_orders,
    "a twentieth of the senders swapped": payments.swap_senders,
    "digits of a tenth of all keys turned round": payments.swap_digits,
    "keys of a twelfth of the payments exchanged": payments.cross_keys,
    "a third paid from the holding's account": payments.pay_through_the_holding,
    "a quarter signed by nobody (generic tax ids)": payments.sign_as_nobody,
    "half of the references in loose words": payments.write_references_loosely,
    "keys with zeros, spaces and prefixes": payments.pad_keys,
    "half of the keys in other writing": payments.rewrite_keys,
    "a third of the amounts rounded": payments.round_amounts,
    "a tenth of the documents in dollars": payments.pay_in_other_money,
    "one payment over one document and a half": payments.pay_over_several,
    "order numbers used again every hundred": books.reuse_orders,
    "a tenth of the invoices not in the books": books.lack_documents,
    "a quarter issued after the payment": books.issue_late,
    "a tenth invoiced in two documents": books.split_documents,
    "a tenth lowered by a note next month": books.credit_next_month,
    "subscriptions of one price, name and day": books.subscribe,
}
