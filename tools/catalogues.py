"""Add what the code says anew to the catalogues, and write them in order: `make words`.

A code stands in every language; a text that a page writes in English, in the others. New ones come without a sentence,
which a test refuses until a person has written it.
"""

import ast
import io
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment, nodes

from consumer.alarms.states import Kind
from consumer.facts.alarms import CAUSES
from consumer.facts.messages import is_translated
from consumer.facts.tables.jobs import DIED
from consumer.sync.streams import STREAMS
from reconcile.books.tax_documents import RELATIONS
from reconcile.closing.figures import FIGURES
from reconcile.fiscal.comparing import Verdict
from reconcile.fiscal.complements import Break
from reconcile.fiscal.declared import SOURCES
from reconcile.fiscal.facts import causes, facts_of
from reconcile.fiscal.overview import INPUTS
from reconcile.fiscal.witnesses import Witness
from reconcile.rules.kinds import KINDS
from reconcile.rules.outcomes import Code, Failure
from reconcile.runs.comparison import OF_FRAMES, OF_ROWS, OF_SETTINGS
from reports.directory import LISTINGS
from reports.making.control import SIDES
from reports.making.fiscal import GROUPS
from reports.shapes.definitions import CATALOGUE
from reports.sheet import SHEET

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "consumer" / "facts" / "locale"
LANGUAGES = ("en", "es_CL", "es_MX")
ROOMS = ("consumer", "reconcile", "reports")
_HEADER = """\
# The sentences of Cuadre. {note}
# Keep what stands in braces as it is: a value takes its place. `make words` adds what is new and keeps the order.
msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"
"""
_NOTES = {
    "en": "English, by code; texts of pages are their own English.",
    "es_CL": "Spanish as Chile writes it.",
    "es_MX": "Spanish as Mexico writes it.",
}
_TEXTS = "texts"
# What a translator wants to know of each group of codes.
SECTIONS = {
    _TEXTS: "Texts of pages. They begin and end as they stand.",
    "books": "Files that people bring in, and why one cannot be kept. Refusals begin in lower case and end without a "
    "full stop: pages add both. Many follow the name of a column: `fecha: está vacío`.",
    "payers": "Rules about who pays for whom, and why one cannot be decided.",
    "payer_kind": "What a rule about payers says.",
    "payer_state": "How a rule about payers stands; feminine in Spanish.",
    "tax_state": "The state of a tax document.",
    "relation": "What a tax document says of another, by country and the tax office's code.",
    "chain": "What of an instalment does not follow from the one before it, in brackets after the cause.",
    "tax_verdict": "What became of one tax document of a file.",
    "channel": "Why a message about alarms did not reach its channel.",
    "casework": "Comments and files of an exception.",
    "closing": "Periods that are closed and opened again.",
    "check": "What to look at before days are closed.",
    "bank_column": "What the columns of a bank's sheet hold, on the page where they are confirmed.",
    "bank": "The lines of the bank: states, where a line stands, notes of the page.",
    "columns": "Columns of a file with unknown headings.",
    "column": "Headings of columns of reports and lists; a report or list that has words of its own is named between.",
    "report": "Titles of reports and lists.",
    "register": "Registers of the tax office that people bring in, and why one cannot be kept.",
    "tax": "The tax control: figures of returns, witnesses, verdicts, and what cannot be declared.",
    "tax_cause": "Why a figure of one witness differs from another's.",
    "tax_figure": "Figures of returns and of the tax control, by code.",
    "tax_witness": "Who says a figure, or has to act.",
    "tax_do": "What to do about such a cause.",
    "tax_group": "Which witnesses a table of the tax control compares.",
    "tax_duty": "What is due to the tax office.",
    "tax_source": "Where a declared figure comes from.",
    "tax_input": "What came in since a month of taxes was compared, in a list.",
    "tax_register": "What a file of the register is in each country.",
    "facts": "Amounts, currencies and tax ids that cannot be read.",
    "journal": "Why there is no journal, and what an account map or a layout cannot hold.",
    "posting": "Texts of lines of the journal; the id of the payment and the document come after.",
    "entry": "Texts of entries of the journal.",
    "month": "The page of a closed month that a controller signs, and why a month cannot be packed.",
    "verify": "What is wrong with an archive or a PDF that is checked; the name of the file stands before it.",
    "approvals": "Requests for a second person. What is asked for begins a heading.",
    "bulk": "Many exceptions at once.",
    "desk": "Decisions of people about payments, documents and exceptions.",
    "jobs": "Work that people set going.",
    "kept": "Results of runs that cannot be read any more.",
    "people": "Logins, passwords and tokens.",
    "reports": "Why a report or a file cannot be made.",
    "pages": "Addresses and forms that cannot be read. A parameter keeps its name.",
    "role": "Roles of people.",
    "scope": "What a token opens.",
    "person": "The page of one person, for admins.",
    "account": "A person's own page.",
    "login": "The login page.",
    "welcome": "The first login.",
    "done": "What was done, shown once above the page.",
    "upload": "Bringing files in.",
    "undo": "Notes next to forms.",
    "keep": "Notes next to forms.",
    "periods": "The page of closed days.",
    "pack": "Notes next to forms.",
    "close": "Notes next to forms.",
    "reopen": "Notes next to forms.",
    "removal": "What rests on a file that a person wants to take back, and why it stays.",
    "take_back": "Notes next to forms.",
    "list": "What a list is, above it, and what an address asks of it that cannot be read.",
    "views": "Why a view of a list cannot be kept.",
    "saved": "The page of saved views.",
    "accept": "Accepting totals as they stand.",
    "counted": "Rows of a file, by what they change.",
    "total": "Headings of control totals.",
    "sheet": "The list of exceptions as a sheet.",
    "trouble": "What is wrong with events; a number comes first.",
    "errand": "Work that was started.",
    "pending": "Rows shown as the next run will say them.",
    "run": "A run that a person started: how far it is, how it ended. Each step stands alone.",
    "trail": "What people did.",
    "late": "How late events arrive.",
    "frozen": "Tables of a closed period.",
    "change": "History of an exception.",
    "settings": "The page of settings.",
    "state": "Filters of lists.",
    "standing": "How payouts stand, after their number.",
    "standing_one": "How one payout stands, after the number 1.",
    "news": "What changed since a person last looked: one sentence for each cause.",
    "news_one": "The same of one thing.",
    "status": "States of payouts, as reconciliation sees them.",
    "exception": "States of exceptions.",
    "severity": "How much an exception weighs.",
    "outcome": "What became of a payment.",
    "document": "What became of a document.",
    "stage": "How a payment was matched.",
    "payout": "States of payouts at the provider.",
    "fee": "Where a fee comes from.",
    "type": "Kinds of items of a payout.",
    "found": "How something stands that the search found.",
    "search": "The page of the search.",
    "kind": "Kinds of documents by country and code, as they stand before a folio.",
    "complement": "States of payment complements.",
    "dispute": "States of disputes.",
    "verdict": "Whether a control ties.",
    "bucket": "Ages, in days.",
    "direction": "Directions of transfers.",
    "transfer": "States of transfers.",
    "means": "Means of payment.",
    "return": "Why a bank gave a transfer back.",
    "mode": "Test or live.",
    "expected": "The document a payment should have.",
    "drift": "Differences between the provider and here.",
    "about": "What a row is about.",
    "issued": "Issued or received.",
    "answer": "Yes and no.",
    "op": "States of runs, jobs, events and periods.",
    "decision": "Decisions of people.",
    "adjustment": "What an accepted difference is.",
    "field": "Fields of a document.",
    "alarm": "What an alarm says, in a mail, a webhook and on the page of alarms; no full stop in a subject.",
    "alarm_do": "What to do about an alarm.",
    "alarm_message": "Kinds of messages about alarms.",
    "alarm_kind": "How an alarm changed, before its sentence.",
    "title": "Titles of exceptions.",
    "action": "What to do about an exception.",
    "rule": "Parts of a matching rule's name.",
    "stream": "Data fetched from the provider.",
    "job": "Jobs.",
    "subject": "What an exception is about.",
    "fact": "What a report was made from.",
    "country": "Countries.",
    "tolerance": "Tolerances of the matching rules.",
    "input": "What a run read.",
    "note": "What rules and jobs say of a row.",
    "figure": "Totals of the control report, and figures of a run or of a closed day: states and amounts in one line.",
    "history": "What runs write into the history of an exception.",
    "cause": "Why something changed between two runs.",
    "unit": "Units after a number.",
    "workbook": "The sheet of a workbook that says what it was made from.",
    "evidence": "Names of evidence of an exception.",
}


def find_used() -> Iterator[tuple[str, str, set[str] | None]]:
    """Yield each place a message is made, its code or text, and its values' names; None where they come from afar."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for room in ROOMS for path in _files(room, "*.py")}
    refusals = _find_refusals(trees.values())
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in {"Message", "translate"} or name in refusals:
                    for text in _constants(node.args[0]):
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", text, _names_given(node, name)
    yield from _find_in_templates()
    yield from _find_declared()


def _find_in_templates() -> Iterator[tuple[str, str, set[str] | None]]:
    for path in _files("reports", "*.html"):
        for call in Environment(autoescape=True).parse(path.read_text(encoding="utf-8")).find_all(nodes.Call):
            text = call.args[0] if call.args else None
            if isinstance(call.node, nodes.Name) and call.node.name == "t" and isinstance(text, nodes.Const):
                yield str(path.relative_to(ROOT)), text.value, {value.key for value in call.kwargs}


def _find_declared() -> Iterator[tuple[str, str, set[str] | None]]:
    """Yield what is said of things declared elsewhere: titles and headings of reports and lists, exceptions."""
    tables = {own.name: own.names for own in (*CATALOGUE.values(), SHEET)} | {
        own.name: own.names for own in LISTINGS.values()
    }
    for table, names in tables.items():
        yield "reports", f"report.{table}", set()
        for name in names:
            own = f"column.{table}.{name}"
            yield "consumer/facts/columns.py", own if is_translated(own, "en") else f"column.{name}", set()
    yield from (("reports/making/control.py", f"column.{name}", set()) for name in SIDES)
    yield from (("consumer/sync/streams.py", f"stream.{name}", set()) for name in STREAMS)
    known = [f"{country}.{code}" for country, kinds in KINDS.items() for code in kinds]
    yield from (("reconcile/rules/kinds.py", f"kind.{kind}", set()) for kind in [*known, "mx.any"])
    yield "consumer/facts/tables/jobs.py", DIED, set()
    yield from (
        ("consumer/facts/alarms.py", f"{part}.{kind}", None) for kind in CAUSES for part in ("alarm", "alarm_do")
    )
    yield from (("consumer/alarms/states.py", f"alarm_kind.{kind}", set()) for kind in Kind)
    yield from (
        ("consumer/alarms/wording.py", f"alarm.subject_{kind}", set()) for kind in ("digest", "mention", "test")
    )
    yield from (("reconcile/rules/outcomes.py", code.value, set()) for code in Failure)
    yield from _find_of_tax()
    yield from (("reconcile/closing/figures.py", code, set(names)) for code, names in FIGURES.items())
    causes = {OF_ROWS: {"id"}, OF_FRAMES: set(), OF_SETTINGS: {"before", "after"}}
    yield from (("reconcile/runs/comparison.py", code, names) for codes, names in causes.items() for code in codes)
    yield from (
        ("reconcile/rules/outcomes.py", f"{part}.{code}", set()) for code in Code for part in ("title", "action")
    )


def _find_of_tax() -> Iterator[tuple[str, str, set[str] | None]]:
    """Yield what is said of the tax control: figures, witnesses, causes, verdicts."""
    own = [facts_of(country) for country in ("cl", "mx")]
    codes = {code for country in own for code in (*country.monthly, *country.yearly)} | {"collected", "vouchers"}
    sides = {cause.side for cause in causes().values()}
    words = [
        *(f"tax_figure.{code}" for code in codes), *(f"verdict.{verdict}" for verdict in Verdict),
        *(f"tax_witness.{name}" for name in {*Witness, *sides}), "register.both",
        *(f"{part}.{code}" for code in causes() for part in ("tax_cause", "tax_do")),
        *(f"tax_duty.{duty.code}" for country in own for duty in country.duties),
        *(f"tax_group.{name}" for name in GROUPS), *(f"tax_source.{name}" for name in SOURCES),
        *(f"tax_input.{name}" for name in INPUTS),
        *(f"relation.{country}.{code}" for country, codes in RELATIONS.items() for code in codes),
        *(f"chain.{name}" for name in Break), "tax_register.cl", "tax_register.mx",
    ]  # fmt: skip
    yield from (("reconcile/fiscal/tables.toml", word, set()) for word in words)


def read_sources() -> str:
    """Return all that may name a text: programs and templates."""
    paths = [path for room in ROOMS for names in ("*.py", "*.html") for path in _files(room, names)]
    return "".join(path.read_text(encoding="utf-8").replace('\\"', '"') for path in paths)


def _files(room: str, names: str) -> list[Path]:
    return sorted((ROOT / room).rglob(names))


def _find_refusals(trees: Iterable[ast.Module]) -> set[str]:
    """Return the names of all classes of refusals, of any file."""
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases = {node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases} for node in nodes}
    found = {"RefusalError"}
    while more := {name for name, own in bases.items() if own & found} - found:
        found |= more
    return found


def _names_given(call: ast.Call, name: str) -> set[str] | None:
    if name != "Message":
        return {str(keyword.arg) for keyword in call.keywords}
    if len(call.args) == 1:
        return set()
    values = call.args[1]
    return {ast.literal_eval(key) for key in values.keys if key} if isinstance(values, ast.Dict) else None


def _constants(node: ast.expr) -> Iterator[str]:
    """Yield the codes a first argument may be, both ways of a condition."""
    if isinstance(node, ast.IfExp):
        yield from (*_constants(node.body), *_constants(node.orelse))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def is_code(text: str) -> bool:
    """Return True if a text begins with a section's name; any other is the English of a page."""
    section, point, _ = text.partition(".")
    return bool(point) and section in SECTIONS


def path_of(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / "cuadre.po"


def read(language: str) -> Catalog:
    with path_of(language).open("rb") as file:
        return read_po(file, locale=language)


def render(language: str, catalog: Catalog) -> str:
    """Return a catalogue sorted by code, a section for each room, with what a translator wants to know."""
    entries = sorted((entry for entry in catalog if entry.id), key=lambda entry: (_section(entry), str(entry.id)))
    parts = [_HEADER.format(language=language, note=_NOTES[language])]
    for section, group in groupby(entries, _section):
        own = Catalog(locale=language)
        for place, entry in enumerate(group):
            note = SECTIONS.get(section) if place == 0 else None
            own.add(entry.id, entry.string, auto_comments=[note] if note else [], user_comments=entry.user_comments)
        file = io.BytesIO()
        write_po(file, own, width=120, omit_header=True, sort_output=True)
        parts.append(file.getvalue().decode().strip() + "\n")
    return "\n".join(parts)


def _section(entry: Message) -> str:
    text = str(entry.id)
    return text.partition(".")[0] if is_code(text) else _TEXTS


def main() -> None:
    texts = {text for _, text, _ in find_used()}
    missing = []
    for language in LANGUAGES:
        catalog = read(language)
        for text in texts:
            if language != "en" or is_code(text):
                catalog.add(text)
        if language == "en":
            # A run keeps its actions in English, in words of its own.
            for code in Code:
                catalog.add(f"action.{code}", code.action)
        path_of(language).write_text(render(language, catalog), encoding="utf-8")
        missing += [f"{language}: {entry.id}" for entry in catalog if entry.id and not entry.string]
    found = "\n".join(missing) or f"{len(texts)} messages, each with its sentence in every language"
    sys.stdout.write(f"{found}\n")


if __name__ == "__main__":
    main()
