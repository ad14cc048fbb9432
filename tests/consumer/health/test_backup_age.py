"""How old the newest backup and proof are: what the doctor, the alarms and the metrics say of it."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from sqlmodel import col, select

from consumer.backup.certificates import Certificate
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.alarms import Alarm
from consumer.facts.tables.backup import Backup, BackupCertificate
from consumer.facts.work import Proof
from consumer.health.backup_age import BackupGauges, check_backups
from consumer.health.causes import Watch


def _make(store: Store, age: timedelta) -> Store:
    with store.transaction() as session:
        session.add(Backup(sha256="0" * 64, file="/backups/a.tar.gz", made_at=utc_now() - age, size=1_000))
    return store


def _drill(store: Store, age: timedelta, *, failure: str = "") -> Store:
    proofs = [Proof("secrets", failure or "all open", is_good=not failure)]
    state = "failed" if failure else "proven"
    nothing = dict.fromkeys(("made_at", "database", "version", "newest_fact_at", "rpo_seconds", "rto_seconds"))
    content = {"state": state, "drilled_at": utc_now() - age, "file": "a", "sha256": "", "proofs": proofs, **nothing}
    text = msgspec.json.encode(msgspec.convert(content, Certificate)).decode()
    with store.transaction() as session:
        session.add(BackupCertificate(sha256="", drilled_at=utc_now() - age, is_proven=not failure, content=text))
    return store


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda _store: None, ["warning backup: none was made yet"]),
        (
            lambda store: _make(store, timedelta(hours=2)),
            ["ok backup: 2 hours ago", "warning backup:drill: no backup was ever restored to try it"],
        ),
        (
            lambda store: _drill(_make(store, timedelta(hours=27)), timedelta(days=9)),
            ["warning backup: 1 day 3 hours ago", "warning backup:drill: 9 days ago"],
        ),
        (
            lambda store: _drill(
                _drill(_make(store, timedelta(hours=2)), timedelta(hours=1)),
                timedelta(minutes=1), failure="none opens",
            ),
            ["ok backup: 2 hours ago", "failure backup:drill: secrets: none opens"],
        ),
        (
            lambda store: _drill(_make(store, timedelta(hours=2)), timedelta(hours=1)),
            ["ok backup: 2 hours ago", "ok backup:drill: 1 hour ago"],
        ),
    ],
)  # fmt: skip
def test_the_doctor_judges_the_age_of_backup_and_proof(
    prepare: Callable[[Store], object], said: list[str], store: Store
) -> None:
    """A day and two hours for a backup, eight days for a proof; a drill that failed is a failure at once."""
    prepare(store)
    with store.reading() as session:
        checks = list(check_backups(session, is_nightly=True, now=utc_now()))
    shown = [f"{one.verdict} {one.check}: {one.found}" for one in checks]
    assert len(shown) == len(said)
    for line, wanted in zip(shown, said, strict=True):
        begin, _, end = wanted.partition(": ")
        assert line.startswith(begin)
        assert line.endswith(end)


def test_ages_are_metrics_and_a_failure_an_alarm(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The age of the proof goes on growing over a drill that failed; the alarm stands until one succeeds."""
    monkeypatch.setattr("consumer.facts.patience.ANSWER_SECONDS", 60.0)
    settings = installation.settings.model_copy(update={"backup_dir": tmp_path})
    nightly = Installation(settings, installation.store)
    metrics = CollectorRegistry()
    metrics.register(BackupGauges(nightly))
    assert metrics.get_sample_value("cuadre_backup_age_seconds") is None
    _make(nightly.store, timedelta(hours=2))
    _drill(nightly.store, timedelta(hours=1))
    _drill(nightly.store, timedelta(minutes=1), failure="none opens")
    age, proof = (metrics.get_sample_value(f"cuadre_backup_{name}_seconds") for name in ("age", "proof_age"))
    assert age == pytest.approx(7_200, abs=600)
    assert proof == pytest.approx(3_600, abs=600)
    Watch(nightly, now=utc_now).look()
    assert _standing(nightly.store) == ["backup:drill"]
    _drill(nightly.store, timedelta())
    Watch(nightly, now=lambda: utc_now() + timedelta(minutes=1)).look()
    assert _standing(nightly.store) == []


def test_without_a_folder_no_alarm_waits_for_a_backup(installation: Installation) -> None:
    """Who backs up otherwise has the doctor's line and no alarm."""
    Watch(installation, now=utc_now).look()
    assert _standing(installation.store) == []


def _standing(store: Store) -> list[str]:
    """Return the causes of alarms about backups that stand."""
    with store.reading() as session:
        causes = session.exec(select(Alarm.cause).where(col(Alarm.ended_at).is_(None))).all()
    return [cause for cause in causes if cause.startswith("backup")]
