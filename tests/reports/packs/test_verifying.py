"""What `cuadre verify` says of an archive of a month: as it was made, or in one sentence what was done to it."""

import io
import json
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from cuadre import Commands
from reconcile.kept.snapshots import name_of
from reports.packs import sealing, verifying, zipping
from reports.packs.manifest import About
from reports.packs.verifying import ChangedError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
INPUTS = {"as_of": "2026-11-01", "frames": {"items": "00"}}
ABOUT = About(
    connection="main", country="cl", mode="test", period=3, since="2026-10-01", until="2026-10-31", as_of="2026-11-01",
    run_id=name_of(INPUTS), run_number=7, closed_by="ana", closed_at="2026-11-02T12:00:00Z", reason="fin de mes",
    profile="machine", language="es-CL",
)  # fmt: skip
FILES = {
    "control.csv": b"figure\r\n" * 400,
    "exceptions.csv": b"exception_id\r\n",
    "inputs.json": json.dumps(INPUTS).encode(),
    "summary.pdf": b"%PDF-1.3\n%%EOF\n",
}


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Make an archive of a few small files, signed with a key or not."""

    def write(name: str = "october.zip", key: Ed25519PrivateKey | None = None) -> Path:
        folder = tmp_path / "files"
        for file, content in FILES.items():
            folder.mkdir(exist_ok=True)
            (folder / file).write_bytes(content)
        zipping.write(folder, tmp_path / name, ABOUT, {"cuadre": "0.1.0"}, key)
        return tmp_path / name

    return write


def verify(path: Path, *more: str) -> Result:
    """Call the command as a terminal does, where there is no installation to open."""
    return CliRunner().invoke(Commands(), ["verify", str(path), *more])


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, files: dict[str, bytes]) -> None:
    """Pack files again with a digest of its own, as one would who knows how an archive ends."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
        archive.comment = sealing.BLANK
    sealing.seal(path)


def test_an_archive_as_it_was_made_says_in_one_line_what_it_proves(make: Callable[..., Path]) -> None:
    """Period, days, reconciliation, files and the digest of the signed page; and that it is not signed."""
    checked = verify(make())

    assert (checked.exit_code, checked.stderr) == (0, "")
    assert checked.stdout == (
        "october.zip is as it was made: period 3 of main, 2026-10-01 to 2026-10-31, reconciliation 7, 4 files, digest "
        "01856a3bedee6270df10c23dda899be87c16a8c26f3caf2b3f7dbd682b90f96b; "
        "it is not signed: this proves integrity, not who made it\n"
    )


def test_the_same_files_are_the_same_bytes(make: Callable[..., Path]) -> None:
    """Two archives of the same folder do not differ, signed or not."""
    assert make("one.zip").read_bytes() == make("two.zip").read_bytes()
    assert make("one.zip", KEY).read_bytes() == make("two.zip", KEY).read_bytes()


def test_every_changed_byte_is_noticed(make: Callable[..., Path]) -> None:
    """Wherever one bit of the file is turned, in a file, between the files or in the digest, it is refused."""
    path = make()
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ChangedError):
            verifying.verify(path)


def test_every_cut_is_noticed(make: Callable[..., Path]) -> None:
    """A file that ends anywhere before its end is refused."""
    path = make()
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ChangedError):
            verifying.verify(path)
    path.write_bytes(whole[:-200])
    assert "october.zip is damaged or cut off" in verify(path).stderr


def _without(name: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda files: {one: content for one, content in files.items() if one != name}


def _edit(before: bytes, after: bytes) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda files: files | {"manifest.json": files["manifest.json"].replace(before, after)}


NO_WAY_OUT = "name leads out of the archive or cannot be shown, "
Change = Callable[[dict[str, bytes]], dict[str, bytes]]
TAMPERED: dict[str, tuple[Change, str]] = {
    "a byte": (
        lambda files: files | {"control.csv": b"figurE" + files["control.csv"][6:]},
        "was changed: control.csv is not as it was made",
    ),
    "added": (lambda files: files | {"more.csv": b"x"}, "was changed: more.csv was added"),
    "removed": (_without("exceptions.csv"), "was changed: exceptions.csv was taken out"),
    "renamed": (
        lambda files: _without("exceptions.csv")(files) | {"errors.csv": files["exceptions.csv"]},
        "was changed: exceptions.csv was renamed to errors.csv",
    ),
    "reordered": (
        lambda files: {"manifest.json": files["manifest.json"], **dict(sorted(files.items(), reverse=True))},
        "was changed: its files are in another order",
    ),
    "edited": (_edit(b'"ana"', b'"eva"'), "was changed: manifest.json is not as it was made"),
    "spaced": (_edit(b'\n "about"', b'\n  "about"'), "was changed: manifest.json is not as it was made"),
    "an older format": (_edit(b"cuadre-month 1", b"cuadre-month 0"), "or is of another version"),
    "no manifest": (_without("manifest.json"), "has no manifest.json: it is no archive of a month"),
    "a way out": (lambda files: files | {"../evil.csv": b"x"}, NO_WAY_OUT + "'../evil.csv'"),
    "a root": (lambda files: files | {"/etc/evil": b"x"}, NO_WAY_OUT + "'/etc/evil'"),
    "another root": (lambda files: files | {"a\\..\\evil": b"x"}, NO_WAY_OUT),
    "a bomb": (lambda files: files | {"zeros.csv": bytes(20_000_000)}, "would unpack to far more than an archive"),
    "a signature": (lambda files: files | {"manifest.sig": b"x"}, "was changed: manifest.sig was added"),
}


@pytest.mark.parametrize("way", TAMPERED)
def test_each_way_of_tampering_has_its_sentence(make: Callable[..., Path], way: str) -> None:
    """Whoever packs the files again, even with a digest of its own, is named in one sentence."""
    path = make()
    change, sentence = TAMPERED[way]
    rewrite(path, change(read(path)))
    checked = verify(path)

    assert (checked.exit_code, checked.stdout, checked.stderr.count("\n")) == (1, "", 1)
    assert checked.stderr.startswith("Error: october.zip ")
    assert sentence in checked.stderr


def test_other_bytes_around_the_files_are_named(make: Callable[..., Path]) -> None:
    """Another program's ZIP of the same files in the same order is not the archive that was made."""
    path = make()
    files = read(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    assert "was packed anew, cut off at its end or has other bytes around its files" in verify(path).stderr


def test_a_name_that_stands_twice_is_named(make: Callable[..., Path]) -> None:
    """Two programs might read different ones of two files of one name."""
    path = make()
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("control.csv", b"other")
    assert "october.zip holds control.csv twice" in verify(path).stderr


def test_an_encrypted_archive_is_named(make: Callable[..., Path]) -> None:
    """Nothing of an archive whose entries say that they are encrypted is read."""
    path = make()
    content = bytearray(path.read_bytes())
    place = content.index(b"PK\x01\x02")
    content[place + 8] |= 1
    path.write_bytes(bytes(content))
    assert "october.zip holds an encrypted file, manifest.json" in verify(path).stderr


def test_a_file_that_says_it_is_small_unpacks_no_further(make: Callable[..., Path]) -> None:
    """What unpacks to more than its entry says is changed, and is read no further than that."""
    path = make()
    files = read(path)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, bytes(50_000_000) if name == "control.csv" else content)
    content = packed.getvalue()
    path.write_bytes(
        content.replace((50_000_000).to_bytes(4, "little"), len(FILES["control.csv"]).to_bytes(4, "little"))
    )
    assert "was changed: control.csv is not as it was made" in verify(path).stderr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is neither an archive of a month nor a PDF of Cuadre"),
        (b"figure,amount\r\n", "is neither an archive of a month nor a PDF of Cuadre"),
        (b"PK\x03\x04 and no more", "is damaged or cut off"),
        (b"PK\x05\x06" + bytes(18), "has no manifest.json"),
        (b"%PDF-1.7\n%%EOF", "is a PDF that was changed after it was made, or is not one of Cuadre"),
    ],
)
def test_what_is_no_archive_is_said_so(tmp_path: Path, content: bytes, sentence: str) -> None:
    """Any other file gets one sentence and the status of a failure."""
    path = tmp_path / "some.zip"
    path.write_bytes(content)
    checked = verify(path)
    assert (checked.exit_code, checked.stderr.count("\n")) == (1, 1)
    assert f"some.zip {sentence}" in checked.stderr


def test_a_manifest_that_never_ends_is_not_read(make: Callable[..., Path]) -> None:
    """A manifest larger than any is refused before it is all in memory."""
    path = make()
    rewrite(path, read(path) | {"manifest.json": zlib.compress(b"", 0) * 8_000_000})
    assert verify(path).exit_code == 1


def test_a_signed_archive_names_its_key_and_proves_origin_to_who_has_it(
    make: Callable[..., Path], tmp_path: Path
) -> None:
    """Without the merchant's key the line only says which key signed; with it, that it is the one."""
    path, key = make(key=KEY), tmp_path / "merchant.pem"
    private = tmp_path / "private.pem"
    private.write_bytes(_to_pem(KEY))
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", key], check=True)
    shown = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="

    assert f"it is signed with the key {shown}: who that is, only the merchant can tell you" in verify(path).stdout
    assert f"it is signed with the key you gave, {shown}: this proves integrity and origin" in (
        verify(path, "--key", str(key)).stdout
    )
    assert "is not signed: nothing in it says who made it" in verify(make(), "--key", str(key)).stderr
    assert "private.pem is no public key of Ed25519" in verify(path, "--key", str(private)).stderr


def test_a_signature_of_another_is_refused(make: Callable[..., Path], tmp_path: Path) -> None:
    """Another key, a signature that was taken out and one that was changed each have their sentence."""
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    key = tmp_path / "other.pem"
    subprocess.run(["openssl", "pkey", "-pubout", "-out", key], input=_to_pem(other), check=True)
    assert "is signed with another key, A6EHv/" in verify(make(key=KEY), "--key", str(key)).stderr

    path = make(key=KEY)
    files = read(path)
    rewrite(path, _without("manifest.sig")(files))
    assert "was changed: manifest.sig was taken out" in verify(path).stderr
    rewrite(path, files | {"manifest.sig": read(make(key=other))["manifest.sig"]})
    assert "has a signature that the key A6EHv/" in verify(path).stderr


def test_a_run_is_named_by_the_hashes_of_its_inputs(make: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive whose hashes belong to another reconciliation is refused, whoever packed it."""
    monkeypatch.setitem(FILES, "inputs.json", json.dumps(INPUTS | {"as_of": "2026-11-02"}).encode())
    assert "inputs.json does not name the reconciliation of the manifest" in verify(make()).stderr


def _to_pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
