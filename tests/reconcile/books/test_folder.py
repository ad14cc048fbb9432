"""The watched folder: only whole files, each once, moved next to its verdict; links and strangers stay."""

import fcntl
import io
import json
import os
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

import app
from consumer.facts.installation import Installation
from reconcile.books import folder as watching
from reconcile.books.folder import QUIET_SECONDS, FolderWatch
from reconcile.tables.books import BankLine, ExchangeRate, InvoiceFile, LocalInvoice
from reconcile.tables.fiscal import FiscalDocument
from reports.tables import AuditEntry
from tests.merchant import settings_of
from tests.reconcile.books.invoice_texts import GOOD, register_of
from tests.reconcile.books.tax_texts import OTHER_RUT, OWN_RUT, TOTALS, dte

INVOICES = register_of(GOOD)
BANK = "Fecha;Descripción;Cargos;Abonos\n01-10-2026;Pasarela;;1500\n"


class Watched:
    """A folder and a worker that watches it; `pass_time` looks now and again after the quiet time."""

    def __init__(self, installation: Installation, path: Path) -> None:
        self.installation, self.path = installation, path
        self.watch, self.now = FolderWatch(installation, path), 1000.0
        (path / "main" / "invoices").mkdir(parents=True)

    def lay(self, place: str, text: str | bytes) -> Path:
        path = self.path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def look(self, seconds: float = 0.0) -> int:
        self.now += seconds
        return self.watch.look(self.now)

    def pass_time(self) -> int:
        return self.look() + self.look(QUIET_SECONDS)

    def verdicts(self, place: str) -> list[dict[str, Any]]:
        found = sorted((self.path / place).glob("*.verdict.json"))
        assert all(path.with_name(path.name.removesuffix(".verdict.json")).is_file() for path in found)
        return [json.loads(path.read_text(encoding="utf-8")) for path in found]

    def kept(self, table: Any) -> list[Any]:
        with self.installation.store.reading() as session:
            return list(session.exec(select(table)))


@pytest.fixture
def watched(installation: Installation, tmp_path: Path) -> Watched:
    installation.settings.data_dir.mkdir(parents=True, exist_ok=True)
    return Watched(installation, tmp_path / "books")


def test_a_quiet_file_is_taken_once_and_moves_to_done(watched: Watched) -> None:
    """It comes into the books whole, and its verdict lies next to it; the same content again is known."""
    path = watched.lay("main/invoices/ventas.csv", INVOICES)
    assert watched.pass_time() == 1
    assert not path.exists()
    assert [row.folio for row in watched.kept(LocalInvoice)] == ["7"]
    (verdict,) = watched.verdicts("main/invoices/done")
    assert (verdict["file"], verdict["verdict"], verdict["rows"], verdict["rejects"]) == ("ventas.csv", "taken", 1, [])
    watched.lay("main/invoices/otra vez.csv", INVOICES)
    assert watched.pass_time() == 1
    assert sorted(one["verdict"] for one in watched.verdicts("main/invoices/done")) == ["known", "taken"]
    assert len(watched.kept(InvoiceFile)) == 1
    assert watched.pass_time() == 0


def test_xml_and_archives_of_it_are_taken(installation: Installation, tmp_path: Path) -> None:
    """One document alone, and a ZIP with one more and one that is not the merchant's."""
    settings = settings_of("http://provider.test", tmp_path, tax_id=OWN_RUT)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    watched = Watched(Installation(settings=settings, store=installation.store), tmp_path / "books")
    watched.lay("main/invoices/15.xml", dte("33", 15, totals=TOTALS).encode("latin-1"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("16.xml", dte("33", 16, totals=TOTALS).encode("latin-1"))
        archive.writestr(
            "17.xml", dte("33", 17, totals=TOTALS, issuer=OTHER_RUT, receiver="60803000-K").encode("latin-1")
        )
    watched.lay("main/invoices/octubre.zip", packed.getvalue())
    assert watched.pass_time() == 2
    assert sorted(row.folio for row in watched.kept(FiscalDocument)) == ["15", "16"]
    assert sorted(row.folio for row in watched.kept(LocalInvoice)) == ["15", "16"]


def test_a_refused_file_moves_aside_with_every_reason(watched: Watched) -> None:
    """Nothing of it is kept, and who laid it down reads line, column, value and reason."""
    watched.lay("main/invoices/ventas.csv", INVOICES.replace("13-09-2026", "31-02-2026"))
    assert watched.pass_time() == 1
    (verdict,) = watched.verdicts("main/invoices/refused")
    assert verdict["verdict"] == "refused"
    assert [(one["line"], one["column"], one["value"]) for one in verdict["rejects"]] == [
        (2, "Fecha Docto", "31-02-2026")
    ]
    assert watched.kept(LocalInvoice) == []


def test_a_file_that_grows_waits(watched: Watched) -> None:
    """Each change begins its quiet time again."""
    path = watched.lay("main/invoices/ventas.csv", INVOICES)
    assert watched.look() == 0
    with path.open("a", encoding="utf-8") as file:
        file.write(GOOD.replace(";7;", ";8;") + "\n")
    assert watched.look(QUIET_SECONDS) == 0
    assert watched.look(QUIET_SECONDS - 1) == 0
    assert watched.look(1) == 1
    assert sorted(row.folio for row in watched.kept(LocalInvoice)) == ["7", "8"]


def test_a_file_that_grows_while_it_is_read_waits(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read of it is dropped, and the next quiet time takes all of it."""
    path = watched.lay("main/invoices/ventas.csv", INVOICES)
    read = os.fdopen

    def write_meanwhile(*wanted: Any) -> Any:
        with path.open("a", encoding="utf-8") as file:
            file.write(GOOD.replace(";7;", ";8;") + "\n")
        return read(*wanted)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", write_meanwhile)
        assert watched.pass_time() == 0
    assert path.exists()
    assert watched.kept(LocalInvoice) == []
    assert watched.pass_time() == 1
    assert sorted(row.folio for row in watched.kept(LocalInvoice)) == ["7", "8"]


def test_links_are_left_where_they_are(watched: Watched, tmp_path: Path) -> None:
    """A link may lead to any file of the machine: neither it nor a folder that is one is followed."""
    outside = tmp_path / "secreto.csv"
    outside.write_text(INVOICES, encoding="utf-8")
    invoices = watched.path / "main" / "invoices"
    (invoices / "link.csv").symlink_to(outside)
    (invoices / "hard.csv").hardlink_to(outside)
    os.mkfifo(invoices / "pipe.csv")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.csv").write_text(BANK, encoding="utf-8")
    (watched.path / "main" / "bank").symlink_to(tmp_path / "elsewhere")
    assert watched.pass_time() == 0
    assert sorted(path.name for path in invoices.iterdir()) == ["hard.csv", "link.csv", "pipe.csv"]
    assert (tmp_path / "elsewhere" / "b.csv").exists()
    assert watched.kept(LocalInvoice) == []


@pytest.mark.parametrize("name", [".ventas.csv", "ventas.csv.part", "ventas.csv.TMP", "ventas.csv~"])
def test_unfinished_files_are_passed_over(watched: Watched, name: str) -> None:
    """Programs write under such names and rename."""
    watched.lay(f"main/invoices/{name}", INVOICES)
    assert watched.pass_time() == 0


@pytest.mark.parametrize("place", ["main/payroll/a.csv", "other/invoices/a.csv", "main/a.csv", "a.csv"])
def test_what_lies_elsewhere_is_not_touched(watched: Watched, place: str) -> None:
    """Only folders of known connections and kinds are looked into."""
    path = watched.lay(place, INVOICES)
    assert watched.pass_time() == 0
    assert path.exists()


def test_a_folder_of_an_account_or_a_currency_says_whose_a_file_is(watched: Watched) -> None:
    """A sheet of a bank names no account, and a list of rates no currency."""
    watched.lay("main/bank/0001234567890/cartola.csv", BANK)
    watched.lay("main/bank/cartola.csv", BANK)
    watched.lay("main/rates/usd/dolar.csv", "Fecha;Valor\n10-09-2026;950,25\n")
    assert watched.pass_time() == 3
    assert [(line.account, line.amount) for line in watched.kept(BankLine)] == [("1234567890", 1500)]
    assert [(rate.currency, rate.value) for rate in watched.kept(ExchangeRate)] == [("USD", "950.25")]
    assert [one["verdict"] for one in watched.verdicts("main/bank/0001234567890/done")] == ["taken"]
    (refused,) = watched.verdicts("main/bank/refused")
    assert refused["rejects"][0]["reason"].startswith("the file does not name its account")


def test_two_workers_take_a_file_once(watched: Watched) -> None:
    """Of many files each is taken by one of two workers that look at the same time."""
    for number in range(12):
        watched.lay(f"main/invoices/{number}.csv", INVOICES.replace(";7;", f";{number + 100};"))
    other = FolderWatch(watched.installation, watched.path)
    assert (watched.look(), other.look(watched.now)) == (0, 0)
    later, taken = watched.now + QUIET_SECONDS, []
    workers = [
        threading.Thread(target=lambda watch=watch: taken.append(watch.look(later))) for watch in (watched.watch, other)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(taken) == 12
    assert [one["verdict"] for one in watched.verdicts("main/invoices/done")] == ["taken"] * 12
    assert len(watched.kept(InvoiceFile)) == 12


def test_a_file_another_worker_is_at_is_left_to_it(watched: Watched) -> None:
    """A lock says who reads it; it goes with the process that had it."""
    path = watched.lay("main/invoices/ventas.csv", INVOICES)
    watched.look()
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert watched.look(QUIET_SECONDS) == 0
    assert watched.look(QUIET_SECONDS) == 1


def test_a_disk_that_does_not_lock_is_read_all_the_same(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some disks of a network refuse locks: the books keep the same content once."""

    def refuse(*_: object) -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", refuse)
    watched.lay("main/invoices/ventas.csv", INVOICES)
    assert watched.pass_time() == 1
    assert len(watched.kept(LocalInvoice)) == 1


def test_a_file_taken_by_a_worker_that_died_is_known_to_the_next(watched: Watched, monkeypatch: Any) -> None:
    """It died between keeping and moving: the next look moves the file and adds nothing."""

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    watched.lay("main/invoices/ventas.csv", INVOICES)
    watched.look()
    with monkeypatch.context() as patch:
        patch.setattr(watching, "_move", die)
        with pytest.raises(KeyboardInterrupt):
            watched.look(QUIET_SECONDS)
    assert watched.look(QUIET_SECONDS) == 1
    assert [one["verdict"] for one in watched.verdicts("main/invoices/done")] == ["known"]
    assert len(watched.kept(LocalInvoice)) == 1


def test_a_file_of_any_name_and_size_ends_in_a_verdict(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are no text, the longest name a disk takes, and more megabytes than are read."""
    watched.lay("main/invoices/" + "x" * 251 + ".csv", INVOICES)
    strange = os.fsencode(watched.path / "main" / "invoices") + b"/\xff\n.csv"
    Path(os.fsdecode(strange)).write_text("nothing", encoding="utf-8")
    assert watched.pass_time() == 2
    assert [one["file"] for one in watched.verdicts("main/invoices/refused")] == ["__.csv"]
    monkeypatch.setattr(watching, "LARGEST", 1_000_000)
    watched.lay("main/invoices/large.csv", b"x" * 1_000_001)
    assert watched.pass_time() == 1
    reasons = [one["rejects"][0]["reason"] for one in watched.verdicts("main/invoices/refused")]
    assert "the file has 1 MB, more than the 1 MB that are read: split it" in reasons


def test_the_worker_watches_the_folder_that_is_set(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """`CUADRE_BOOKS_FOLDER` is all it takes; without it there is no thread."""
    monkeypatch.setattr(watching, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.02)
    watched.lay("main/invoices/ventas.csv", INVOICES)
    settings = watched.installation.settings.model_copy(update={"books_folder": watched.path})
    stop = app.start_watching(Installation(settings=settings, store=watched.installation.store))
    give_up = time.monotonic() + 180
    while not watched.verdicts("main/invoices/done"):
        assert time.monotonic() < give_up
        time.sleep(0.01)
    stop()
    (entry,) = watched.kept(AuditEntry)
    assert (entry.who, entry.action, entry.subject) == ("books folder", "import", "main invoices ventas.csv")
    threads = set(threading.enumerate())
    app.start_watching(watched.installation)()
    assert set(threading.enumerate()) <= threads


def test_a_folder_that_goes_and_comes_back_is_watched_again(watched: Watched, tmp_path: Path) -> None:
    """A disk of the network that is away stops no worker."""
    watched.path.rename(tmp_path / "away")
    assert watched.pass_time() == 0
    (tmp_path / "away").rename(watched.path)
    watched.lay("main/invoices/ventas.csv", INVOICES)
    assert watched.pass_time() == 1


def test_a_folder_whose_name_is_no_text_has_its_verdict(watched: Watched) -> None:
    """The reason repeats the name with a mark in place of what cannot be written, and other files come in."""
    place = watched.path / "main" / "rates" / os.fsdecode(b"\xff")
    place.mkdir(parents=True)
    (place / "uf.csv").write_text("Fecha;Valor\n05-10-2026;39123,45\n", encoding="utf-8")
    assert watched.pass_time() == 1
    (path,) = (place / "refused").glob("*.verdict.json")
    (reject,) = json.loads(path.read_text(encoding="utf-8"))["rejects"]
    assert reject["reason"] == "? is no currency that rates are kept of: CLF, USD, EUR"
