"""What every list on a page shares: how its address is read, which columns it shows, and how it is drawn."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from sqlmodel import Session

from consumer.facts.columns import Column
from consumer.facts.messages import Message
from reports.directory import LISTINGS
from reports.making.columnar import Selection
from reports.pages import desk
from reports.pages.desk import BadQueryError
from reports.queries import listing as listings
from reports.queries import standing
from reports.queries.asking import SIZES, Asked, AskedError, Say, Speak, learn, read_asked
from reports.queries.listing import Listing, Page, Wanted
from reports.queries.standing import Sums
from reports.queries.views import Setting, find_setting
from reports.shapes.definitions import definition_of, label_of
from reports.shapes.spans import Row
from reports.wording import cells, phrases

# What an address of a list holds besides the filters of its columns.
_OF_EVERY_LIST = frozenset(
    {"connection", "q", "sort", "columns", "size", "page", "pick", "profile", "language", "run", "limit", "cursor"}
)
# The columns that a list shows first, or with a full stop at the end alone until its reader chooses.
_USUAL = {
    "receivables": (
        "doc_key balance days_overdue connection customer_name due_date currency state total paid credited ."
    ),
    "documents": (
        "doc_key balance outcome connection customer_name issue_date due_date total currency paid credited ."
    ),
    "journal": "entry_id date connection entry_type description account debit credit currency .",
    "periods": "period connection since until state closed_by closed_at reason adjustments .",
    "cash-application": (
        "date connection customer_name doc_type doc_folio amount currency method deposit_account payment_id payout_id ."
    ),
    "events": "id type connection created_at received_at source state error .",
    "payout-summary": (
        "payout_id connection status_recon payments_gross charges_gross refunds_gross refund_adjustments "
        "disputes fee_total difference payout_amount unmatched_count exceptions ."
    ),
    "exceptions": (
        "code amount_at_risk subject connection customer_name age_business_days severity due_on owner state "
        "suggested_action ."
    ),
    "bank-lines": "bank_day account_last4 amount_signed description connection payout_id source file .",
    "transfers": (
        "transfer_id connection amount currency direction status operating_date institution return_label "
        "statement_period matched_to ."
    ),
}
# How a column counts in the sum that its row shows.
_SIGNS = {
    "payout-summary": {
        "charges_gross": "+", "refunds_gross": "−", "refund_adjustments": "+", "disputes": "−", "fee_total": "−",
        "difference": "+", "payout_amount": "=",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drawn:
    """A list as a page draws it: its columns, all that may be chosen, its rows and the sums of what is filtered."""

    name: str
    columns: Sequence[Column]
    choice: Sequence[Column]
    asked: Asked
    page: Page[Row]
    totals: Mapping[str, Mapping[str, int]]
    unsorted: Collection[str] = ()
    # The sums with the decisions that wait, where these change any.
    later: Mapping[str, Mapping[str, int]] | None = None
    # The sums without payouts that came back, where these change any: their items are paid again by another.
    living: Mapping[str, Mapping[str, int]] | None = None
    # Leads from a row to its page, and from there back to this list.
    back: str = ""

    @property
    def totals_of(self) -> set[str]:
        return {name for sums in [*self.totals.values(), *(self.later or {}).values()] for name in sums}

    def order_of(self, column: Column) -> str | None:
        """Return how a column is sorted, as a table says it to a reader that cannot see it."""
        if column != self.asked.sort:
            return None
        return "descending" if self.asked.is_descending else "ascending"

    def sign_of(self, column: Column) -> str:
        """Return the sign before a heading where the amounts of a row add up to another."""
        sign = _SIGNS.get(self.name, {}).get(column.name)
        return f"{sign} " if sign else ""

    def next_order(self, column: Column) -> str:
        """Return the order that a click on a heading asks for."""
        return f"-{column.name}" if self.order_of(column) == "ascending" else column.name


def speak(table: str) -> Speak:
    """Return how the reader sees the words of a table's columns."""
    language = desk.language()

    def say_of(name: str) -> Say | None:
        if name == "code":
            return lambda code: f"{code} {phrases.code_title(code, language)}"
        return cells.say_of(table, name, language)

    return say_of


def zone() -> str:
    return desk.home_connection().country.zone


def wanted(listing: Listing, own: Collection[str] = ("state",)) -> Wanted:
    """Return which rows of a list of the database the address asks for."""
    asked = read(listing.name, listing.columns, own)
    found = desk.wanted(listing, number=desk.page_number(), size=asked.size)
    return replace(found, search=asked.words, asked=asked, speak=speak(listing.name), zone=zone())


def draw(
    session: Session, listing: Listing, found: Wanted, totals: Sums | None = None, number: int | None = None
) -> Drawn:
    """Read one page of a list of the database, with sums and number of all that is filtered where not known yet."""
    page = listings.read(session, listing, found, total=number)
    totals = listings.add_up(session, listing, found) if totals is None else totals
    shown, choice = choose(listing.name, listing.columns, found.asked)
    return Drawn(listing.name, shown, choice, found.asked, page, totals, listings.unsorted(listing))


def draw_report(
    selection: Selection,
    asked: Asked,
    *,
    silent: Collection[str] = (),
    mark: Callable[[Sequence[Row]], list[Row]] = list,
    published: Selection | None = None,
) -> Drawn:
    """Cut one page out of a report, with the sums of all that is filtered; `published` is it without what waits."""
    number, name = desk.page_number(), selection.report.definition.name
    rows = selection.page((number - 1) * asked.size, asked.size).table.to_pylist()
    shown, choice = choose(name, selection.report.definition.columns, asked, silent)
    page = Page(mark(rows), number, len(selection.places), asked.size)
    totals, later = (published or selection).totals(), selection.totals()
    return Drawn(name, shown, choice, asked, page, totals, later=None if later == totals else later)


def read(table: str, columns: Sequence[Column], own: Collection[str] = (), *, usual: int = 50) -> Asked:
    """Read what the address asks of a list, with what its reader chose before."""
    args = desk.args()
    filters = [(name, args[name]) for name in args if name not in _OF_EVERY_LIST | set(own)]
    setting = find_setting(desk.installation().store, desk.reader().person_id, table)
    try:
        known = learn(table, columns, desk.today())
        asked = read_asked(
            known,
            filters,
            args.get("q", "")[:500],
            sort=args.get("sort", ""),
            columns=args.get("columns", "") or _columns_known(setting, columns),
        )
    except AskedError as error:
        raise BadQueryError(_in_headings(error.message, table, columns)) from None
    size = args.get("size", "")
    if size and size not in {str(one) for one in SIZES}:
        raise BadQueryError("pages.not_one_of", name="size", value=size[:20], known=", ".join(map(str, SIZES)))
    return replace(asked, size=int(size) if size else setting.size or usual)


def _in_headings(said: Message, table: str, columns: Sequence[Column]) -> Message:
    """Name the columns of a refusal by the headings that a page gives them."""
    headings = {column.name: label_of(table, column.name, desk.language()) for column in columns}
    if said.code == "list.no_column":
        return replace(said, values={**said.values, "known": ", ".join(headings.values())})
    name = str(said.values.get("name"))
    return replace(said, values={**said.values, "name": headings.get(name, name)})


def draw_nothing(table: str, asked: Asked) -> Drawn:
    """Return a list without rows, where no run has found any."""
    shown, choice = choose(table, definition_of(table).columns, asked)
    return Drawn(table, shown, choice, asked, Page([], 1, 0, asked.size), {})


def _columns_known(setting: Setting, columns: Sequence[Column]) -> str:
    """Return the columns chosen before that the list still has."""
    names = {column.name for column in columns}
    return ",".join(name for name in setting.columns if name in names)


def choose(
    table: str, columns: Sequence[Column], asked: Asked, silent: Collection[str] = ()
) -> tuple[list[Column], list[Column]]:
    """Return the columns to show and all that may be chosen: those asked for, else the usual ones that say anything."""
    is_single = len(desk.visible_connections()) == 1
    own = [column for column in columns if not (column.name == "connection" and is_single)]
    by_name = {column.name: column for column in own}
    usual = _USUAL.get(table, "").split()
    first = [by_name[name] for name in usual if name in by_name]
    rest = [column for column in own if column not in first]
    shown = first if usual[-1:] == ["."] else [*first, *rest]
    return list(asked.columns) or [column for column in shown if column.name not in silent], [*first, *rest]


def columns_of(name: str) -> frozenset[str]:
    """Return the names of all columns that a list has on its page."""
    if name == "exceptions":
        columns = standing.WORK_COLUMNS
    else:
        columns = LISTINGS[name].columns if name in LISTINGS else definition_of(name).columns
    return frozenset(column.name for column in columns)


def shown_address(drawn: Drawn, **more: object) -> str:
    """Return what a file of the list as it is shown asks for: the same filters, order and columns."""
    asked = {name: value for name, value in desk.args().items() if name not in {"page", "pick", "size"} and value}
    columns = ",".join(column.name for column in drawn.columns)
    profile = desk.home_connection().country.profile
    return urlencode({**asked, **more, "columns": columns, "profile": profile})


def box(own: Collection[str] = ()) -> str:
    """Return the text box: what was typed, with the filters that the address holds by name."""
    args = desk.args()
    terms = [f"{name}={_quote(args[name])}" for name in args if name not in _OF_EVERY_LIST | set(own) and args[name]]
    return " ".join([*terms, args.get("q", "")]).strip()


def _quote(value: str) -> str:
    return f'"{value}"' if " " in value else value
