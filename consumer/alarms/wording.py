"""What an alarm says: sentences of the catalogue with counts, amounts and times, and no text of the provider."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from consumer.alarms.states import Change
from consumer.facts.clock import format_instant, to_instant
from consumer.facts.messages import Message, is_translated, say_stored, translate, word
from consumer.facts.money import format_decimal, group_digits
from consumer.facts.settings import Settings
from consumer.facts.tables.alarms import Alarm

# What a message keeps until it is sent; it is worded then, in the language of its channel.
Content = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    subject: str
    body: str


def content_of(kind: str, changes: Sequence[Change] = (), *, headline: Sequence[str] = ()) -> Content:
    """Return what is stored of a message: changes of alarms, and stored lines of a headline."""
    return {"kind": kind, "headline": list(headline), "alarms": [_to_json(change) for change in changes]}


def _to_json(change: Change) -> Content:
    alarm = change.alarm
    return {
        "change": str(change.kind),
        "connection": alarm.connection,
        "cause": alarm.cause,
        "severity": alarm.severity,
        "since": format_instant(alarm.since),
        "ended_at": None if alarm.ended_at is None else format_instant(alarm.ended_at),
        "count": alarm.count,
        "amounts": json.loads(alarm.amounts),
        "acknowledged": bool(alarm.acknowledged_by),
    }


def sentence_of(cause: str, count: int, amounts: Mapping[str, int], language: str) -> str:
    """Say in one sentence what stands."""
    kind, _, about = cause.partition(":")
    said = translate(f"alarm.{kind}", language, count=count, name=_name(kind, about, language))
    return said + translate("alarm.worth", language, money=_money(amounts, language)) if amounts else said


def _money(amounts: Mapping[str, int], language: str) -> str:
    grouped = ((group_digits(format_decimal(amount, name), language), name) for name, amount in amounts.items())
    return ", ".join(" ".join(pair) for pair in grouped)


def _with_money(language: str, message: Message) -> Message:
    """Return a line of the headline with its amounts, kept as JSON, as people write them."""
    amounts = json.loads(str(message.values.get("at_risk", "{}")))
    return Message(message.code, {**message.values, "at_risk": _money(amounts, language) or "0"})


def sentence_of_alarm(alarm: Alarm, language: str) -> str:
    return sentence_of(alarm.cause, alarm.count, json.loads(alarm.amounts), language)


def advice_of(cause: str, language: str) -> str:
    return translate(f"alarm_do.{cause.partition(':')[0]}", language)


def _name(kind: str, about: str, language: str) -> str:
    if kind == "exception":
        return word("title", about, language)
    if kind == "tax_duty":
        return word("tax_duty", about, language)
    job = about.partition(":")[0]
    return word("job", job, language) if kind == "job" and is_translated(f"job.{job}", language) else about


def write(content: Content, settings: Settings, language: str) -> Text:
    """Word a message for people."""
    alarms, kind = content["alarms"], content["kind"]
    said = [sentence_of(one["cause"], one["count"], one["amounts"], language) for one in alarms]
    if kind != "alarm":
        subject = translate(f"alarm.subject_{kind}", language)
    elif len(alarms) == 1:
        subject = f"{word('alarm_kind', alarms[0]['change'], language)}: {said[0]}"
    else:
        subject = translate("alarm.subject_several", language, count=len(alarms), first=said[0])
    lines = [say_stored(line, language, partial(_with_money, language)) for line in content["headline"]]
    if kind == "digest":
        stands = translate("alarm.standing", language, count=len(alarms))
        lines.append(stands if alarms else translate("alarm.none_stands", language))
    elif kind == "test":
        lines.append(translate("alarm.this_is_a_test", language))
    for one, sentence in zip(alarms, said, strict=True):
        lines += ["", *_write_alarm(one, sentence, settings, language)]
    if settings.public_url:
        lines += ["", settings.public_url + content.get("path", "/alarms")]
    return Text(f"[Cuadre] {subject}", "\n".join(lines) + "\n")


def _write_alarm(one: Content, sentence: str, settings: Settings, language: str) -> list[str]:
    names = {connection.name for connection in settings.all_connections}
    zone = settings.connection(one["connection"] if one["connection"] in names else "main").country.zone
    parts = [word("alarm_kind", one["change"], language), word("severity", one["severity"], language)]
    parts += [one["connection"]] if one["connection"] else []
    lines = [f"{' · '.join(parts)}: {sentence}"]
    lines.append("  " + translate("alarm.since", language, moment=_moment(one["since"], zone)))
    if one["ended_at"]:
        return [*lines, "  " + translate("alarm.until", language, moment=_moment(one["ended_at"], zone))]
    return [*lines, f"  {advice_of(one['cause'], language)}"]


def _moment(text: str, zone: str) -> str:
    return f"{to_instant(text).astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"
