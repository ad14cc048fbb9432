"""A person's words replaced in rows, in tables of runs and in files of the archive; amounts are never touched."""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from html import escape, unescape
from urllib.parse import quote_plus, unquote_plus

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from consumer.facts.meaning import read_json, to_json
from consumer.facts.pseudonyms import Pseudonyms
from consumer.facts.texts import ERASED
from reports.erasing.declared import BODY, DOCUMENT, NAME, RAW, TEXT, VALUE, read_declared
from reports.erasing.finding import Person

_LONG_NAME, _LONG_TEXT, _MANY, _SHORTEST, _LONG_NUMBER = 8, 16, 2, 3, 8
_SAME = str.maketrans({"a": "[aáàäâ]", "e": "[eéèëê]", "i": "[iíìïî]", "o": "[oóòöô]", "u": "[uúùüû]", "n": "[nñ]"})
_PLAIN = str.maketrans("áàäâéèëêíìïîóòöôúùüûñ", "aaaaeeeeiiiioooouuuun")
_DAY = re.compile(r"\d{4}-\d\d-\d\d.*")
_STORED = re.compile(r"^(\S+ )(\{.*\})$", re.DOTALL)
_CELL_OF_SHEET = re.compile(r"(?<=>)[^<>]+(?=</)")
_CELL_OF_CSV = re.compile(r"[^;,\"\r\n]+")
# A value in the question of an address, as saved views and the trail have it.
_ASKED = re.compile(r"(?<==)[^&=\s]*[%+][^&=\s]*")
_NO_MATCH = re.compile(r"(?!)")
_OF_A_DOCUMENT = {"customer_tax_id": VALUE, "customer_name": VALUE, "order_ref": VALUE, "raw": RAW}
_PARQUET, _ZIP, _ZLIB = b"PAR1", b"PK\x03\x04", b"\x78"


class Words:
    """Replaces the words of one person; those that may mean anything only where a row is about the person."""

    def __init__(self, person: Person, pseudonyms: Pseudonyms) -> None:
        self._person, self._pseudonyms = person, pseudonyms
        self._columns = frozenset(read_declared()["columns"]["value"].split())
        self._certain = self._further = _NO_MATCH

    def learn(self) -> None:
        """Look everywhere for what was replaced where rows are about the person."""
        said = {line.strip() for text in self._pseudonyms.replaced for line in text.splitlines()}
        said = {text for text in said if not ERASED.search(text) and any(map(str.isalpha, text))}
        said |= {name for name in self._person.names if "@" in name}
        numbers = {text for text in self._pseudonyms.numbers if sum(map(str.isdigit, text)) >= _LONG_NUMBER}
        names = {text.strip() for text in self._pseudonyms.names}
        certain = {text for text in said if text in names and _is_telling(text)}
        certain |= {text for text in said if "@" in text or (text.count(" ") >= _MANY and len(text) >= _LONG_TEXT)}
        tax_ids = [_pattern_of_tax_id(text) for text in self._person.tax_ids]
        self._certain = _compile([*map(_pattern_of, certain | numbers), *tax_ids])
        self._further = _compile(_pattern_of(text) for text in said - certain if len(text) >= _SHORTEST)

    def cell(self, kind: str, text: str, *, is_about: bool) -> str:
        if kind == BODY:
            return self._body(text, is_about=is_about)
        if kind == DOCUMENT and is_about:
            return self._document(text)
        if kind == NAME and is_about:
            self._pseudonyms.names.add(text)
        if kind in (NAME, VALUE, RAW) and is_about:
            return _each_text(text, self._forget if kind == RAW else self._pseudonyms.text)
        return self.mention(text, is_about=is_about)

    def _document(self, text: str) -> str:
        said = read_json(text)
        redacted = said | {
            name: self.cell(kind, part, is_about=True)
            for name, kind in _OF_A_DOCUMENT.items()
            if isinstance(part := said.get(name), str)
        }
        return text if redacted == said else json.dumps(redacted, ensure_ascii=False)

    def mention(self, text: str, *, is_about: bool) -> str:
        """Replace what is certainly the person's, and in a row about the person every word of theirs."""
        text = _ASKED.sub(lambda found: self._in_address(found.group(), is_about=is_about), text)
        if not self._certain.search(text) and not (is_about and self._further.search(text)):
            return text
        return _each_text(text, lambda part: self._mention(part, is_about=is_about))

    def _in_address(self, text: str, *, is_about: bool) -> str:
        written = unquote_plus(text)
        mentioned = self._mention(written, is_about=is_about)
        return text if mentioned == written else quote_plus(mentioned)

    def _mention(self, text: str, *, is_about: bool = False) -> str:
        text = self._certain.sub(lambda found: self._whole(found.group()), text)
        return self._further.sub(lambda found: self._whole(found.group()), text) if is_about else text

    def _whole(self, text: str) -> str:
        return self._pseudonyms.text(text) if any(map(str.isalpha, text)) else self._pseudonyms.whole(text)

    def _forget(self, text: str) -> str:
        """Replace without looking for it elsewhere: a row of a file has amounts and days too."""
        before = set(self._pseudonyms.replaced)
        words = self._pseudonyms.text(text)
        self._pseudonyms.replaced &= before
        return words

    def _body(self, text: str, *, is_about: bool) -> str:
        try:
            said = read_json(text)
        except ValueError:
            return self.mention(text, is_about=is_about)
        if not is_about and not self._person.is_in(said):
            plain = to_json(said) if "\\u" in text else text
            return self.mention(plain, is_about=False) if self._certain.search(plain) else text
        redacted = self._pseudonyms.body(said, self._person.is_own)
        return text if redacted == said else to_json(redacted)  # type: ignore[arg-type]  # an object stays one

    def content(self, content: bytes, connection: str) -> bytes:
        """Return a file, a chunk or an entry without the person, as the same bytes where it says nothing of them."""
        if content.startswith(_PARQUET):
            table = pq.read_table(io.BytesIO(content))
            redacted = self.table(table, connection)
            return content if redacted is table else _to_parquet(redacted)
        if content.startswith(_ZIP):
            return self._archive(content)
        if content.startswith(_ZLIB):
            with suppress(zlib.error):
                text = zlib.decompress(content).decode()
                found = self.mention(text, is_about=False)
                return content if found == text else zlib.compress(found.encode(), 1)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return content
        redacted_text = _CELL_OF_CSV.sub(lambda cell: self._cell_of_file(cell.group()), self._mention(text))
        return content if redacted_text == text else redacted_text.encode()

    def _cell_of_file(self, text: str) -> str:
        return self._whole(text) if self._further.fullmatch(text) else text

    def _archive(self, content: bytes) -> bytes:
        target, is_changed = io.BytesIO(), False
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
            for head in old.infolist():
                text = old.read(head)
                if head.filename.endswith(".xml"):
                    found = _CELL_OF_SHEET.sub(self._cell_of_sheet, text.decode()).encode()
                    is_changed, text = is_changed or found != text, found
                new.writestr(head, text)
        return target.getvalue() if is_changed else content

    def _cell_of_sheet(self, match: re.Match[str]) -> str:
        text = unescape(match.group())
        found = self._cell_of_file(self._mention(text))
        return match.group() if found == text else escape(found, quote=False)

    def table(self, table: pa.Table, connection: str) -> pa.Table:
        """Return a table without the person, the same one where it says nothing of them."""
        names = [one.name for one in table.schema if pa.types.is_string(one.type) or pa.types.is_large_string(one.type)]
        coded = {name: table[name].combine_chunks().dictionary_encode() for name in names}
        about = pa.array([False] * table.num_rows, pa.bool_())
        for values in coded.values():
            own = [self._person.is_about([value], connection) for value in values.dictionary.to_pylist()]
            if any(own):
                about = pc.or_(about, pc.fill_null(pc.take(pa.array(own), values.indices), False))
        for place, name in enumerate(table.column_names):
            values = coded.get(name)
            new = None if values is None else self._column(name, values, about)
            if new is not None:
                table = table.set_column(place, table.schema.field(place), new.cast(table.schema.field(place).type))
        return table

    def _column(self, name: str, values: pa.DictionaryArray, about: pa.Array) -> pa.Array | None:
        texts = values.dictionary.to_pylist()
        of_person = set(pc.unique(values.indices.filter(about)).to_pylist())
        kind = VALUE if name in self._columns else TEXT
        plain = [self.mention(text, is_about=False) for text in texts]
        own = [self.cell(kind, text, is_about=True) if at in of_person else text for at, text in enumerate(texts)]
        if plain == texts and own == texts:
            return None
        both = (pc.take(pa.array(some, pa.string()), values.indices) for some in (own, plain))
        return pc.if_else(about, *both)


def _to_parquet(table: pa.Table) -> bytes:
    target = io.BytesIO()
    pq.write_table(table, target, compression="zstd", use_dictionary=False, write_statistics=False)
    return target.getvalue()


def _each_text(text: str, change: Callable[[str], str]) -> str:
    """Change the texts within JSON and within stored messages, a line each; their names and numbers stay."""
    stored = _STORED.match(text)
    head, rest = stored.groups() if stored else ("", text)
    if rest.startswith(("{", "[")):
        try:
            decoded = json.loads(rest)
        except ValueError:
            return change(text)
        changed = _walk(decoded, change)
        return text if changed == decoded else head + json.dumps(changed, ensure_ascii=False, separators=(",", ":"))
    if "\n" in text:
        return "\n".join(_each_text(line, change) for line in text.split("\n"))
    return change(text)


def _walk(node: object, change: Callable[[str], str]) -> object:
    if isinstance(node, dict):
        return {name: _walk(part, change) for name, part in node.items()}
    if isinstance(node, list):
        return [_walk(part, change) for part in node]
    return change(node) if isinstance(node, str) else node


def _is_telling(name: str) -> bool:
    """Return True for a name that means one person or order wherever it stands: of two words, long, or numbered."""
    return " " in name or len(name) >= _LONG_NAME or any(map(str.isdigit, name))


def _compile(patterns: Iterable[str]) -> re.Pattern[str]:
    longest = sorted(patterns, key=lambda one: (-len(one), one))
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest)})(?!\w)", re.IGNORECASE) if longest else _NO_MATCH


def _pattern_of(text: str) -> str:
    """Return a pattern that also finds it with other letter case, accents and spaces."""
    words = (re.escape(word).translate(_SAME) for word in text.lower().translate(_PLAIN).split())
    return r"\s+".join(words)


def _pattern_of_tax_id(text: str) -> str:
    if "-" not in text:
        return r"[ -]?".join((re.escape(text[:-9]), text[-9:-3], text[-3:]))
    body, check = text.split("-")
    digits = r"\.?".join(body[max(end - 3, 0) : end] for end in range(len(body) % 3 or 3, len(body) + 1, 3))
    return rf"0*{digits}\s?-?\s?{check}"
