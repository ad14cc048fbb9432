"""The files of deploy/: each setting is one, each unit is hardened and starts, each proxy lets in what it must."""

import datetime as dt
import os
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import yaml  # type: ignore[import-untyped] # its types are a package of their own, for three calls
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app import create_app
from consumer.config import setting_names
from consumer.facts.installation import Installation
from reports.pages.bodies import _LARGEST
from tests.deploy.conftest import ROOT, SHIPPED
from tests.ports import free_port

DEPLOY = ROOT / "deploy"
UNITS = sorted(path.name for path in (DEPLOY / "systemd").glob("*.service"))
EXPOSURE = "20"  # of 100, which systemd writes as 2.0
# Debian 12 has the last Caddy that knows buffering by another name, and says 502 of a body that is too large.
OLD_CADDY = "2.6.2"
TOO_LARGE = {413, 502}
FORM, WEBHOOK, MEGABYTE = 65_536, 1_048_576, 1_000_000
SENT = 20 * MEGABYTE  # of a body that may be far larger
_SETTING = re.compile(r"\bCUADRE_[A-Z_]+\b")


def need(program: str) -> str:
    """Return where a program lies; where there is none the test cannot say anything."""
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{program} is not installed")  # a machine may lack it; a complete run fails here
    return found


def test_every_setting_of_the_files_is_one() -> None:
    """A name that the program does not know would stop its start."""
    own = {"CUADRE_UPSTREAM"}  # the Caddyfile's
    known = {variant for name in setting_names() for variant in (name, f"{name}_FILE")} | own
    found = {
        name: path.name
        for path in [*DEPLOY.rglob("*"), ROOT / "docs" / "deploy.md"]
        if path.is_file()
        for name in _SETTING.findall(path.read_text(encoding="utf-8"))
    }
    assert len(found) > 8
    assert {name: file for name, file in found.items() if name not in known} == {}


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root folder as docs/deploy.md lays it out."""
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(DEPLOY / "systemd", root / "etc" / "systemd" / "system")
    program = root / "opt" / "cuadre" / "bin" / "cuadre"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    shutil.copytree("/lib/systemd/system", root / "usr" / "lib" / "systemd" / "system", symlinks=True)
    return root


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_valid_and_hardened(units: Path, unit: str) -> None:
    """What systemd says of each unit: no complaint, and little of the machine exposed."""
    analyze = [need("systemd-analyze"), f"--root={units}"]
    verify = [*analyze, "verify", "--man=no", str(units / "etc/systemd/system" / unit)]
    verified = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert [line for line in verified.stderr.splitlines() if "cuadre" in line] == []
    judge = [*analyze, "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager", unit]
    judged = subprocess.run(judge, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout[-300:]


@dataclass(frozen=True)
class Serving:
    """The program as the unit starts it, and where it answers."""

    process: subprocess.Popen[bytes]
    url: str


@pytest.fixture(scope="module")
def serving(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The command of `cuadre-serve.service` from the installed wheel, with the settings of `cuadre.env`."""
    folder = tmp_path_factory.mktemp("unit")
    (folder / "api_key").write_text("sk_test_of_the_unit\n", encoding="utf-8")
    lines = (DEPLOY / "systemd" / "cuadre.env").read_text(encoding="utf-8").splitlines()
    settings = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    settings |= {"CUADRE_DATA_DIR": str(folder / "data"), "CUADRE_API_KEY_FILE": str(folder / "api_key")}
    settings |= {"CUADRE_PROVIDER_URL": "http://127.0.0.1:9", "CUADRE_WEBHOOK_SECRETS": "whsec_of_the_unit"}
    unit = (DEPLOY / "systemd" / "cuadre-serve.service").read_text(encoding="utf-8")
    (line,) = re.findall(r"^ExecStart=/opt/cuadre/bin/cuadre (.+)$", unit, re.MULTILINE)
    port = free_port()
    command = [sys.executable, "-P", "-m", "cuadre", *shlex.split(line), "--port", str(port)]
    environ = {"PYTHONPATH": str(installed), "PATH": os.environ["PATH"], "HOME": str(folder), **settings}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(lambda: answers(f"{url}/readyz"), process, folder / "log")
            yield Serving(process, url)
        finally:
            process.terminate()
            status = process.wait(timeout=180)
    assert status in {0, -signal.SIGTERM}


def answers(url: str, tls: ssl.SSLContext | None = None) -> bool:
    """Say whether an address answers 200."""
    try:
        return httpx.get(url, verify=tls or True).status_code == 200
    except httpx.TransportError:
        return False


def wait_for(is_there: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a process does what it must; fail with its log where it ends first or takes five minutes."""
    until = time.monotonic() + 300
    while not is_there():
        assert process.poll() is None, log.read_text(encoding="utf-8")
        assert time.monotonic() < until, log.read_text(encoding="utf-8")
        time.sleep(0.05)


def test_a_unit_starts_and_stops(serving: Serving) -> None:
    """The unit's command from the wheel is ready with nothing but the settings of its file, and ends in time."""
    assert httpx.get(f"{serving.url}/readyz").json() == {"status": "ready"}


def test_the_rules_of_prometheus_hold() -> None:
    """Each rule fires at what it is for and is silent over a quiet installation."""
    subprocess.run([need("promtool"), "test", "rules", DEPLOY / "prometheus" / "alerts_test.yml"], check=True)


def test_the_rules_ask_for_figures_that_are_there(serving: Serving) -> None:
    """A metric that nothing shows would make a rule that never speaks; each rule is tried, too."""
    shown = re.findall(r"^# TYPE (cuadre_\w+)", httpx.get(f"{serving.url}/metrics").text, re.MULTILINE)
    rules = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    asked = {name for rule in rules for name in re.findall(r"\bcuadre_\w+", rule["expr"])}
    assert asked - set(shown) == set()
    tried = set(re.findall(r"Cuadre\w+", (DEPLOY / "prometheus" / "alerts_test.yml").read_text(encoding="utf-8")))
    assert {rule["alert"] for rule in rules} == tried


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key and the certificate of localhost that it signed itself."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "privkey.pem").write_bytes(pem)
    return folder


def nginx_command(folder: Path, port: int, upstream: str, certificate: Path) -> tuple[list[str], dict[str, str]]:
    """Lay out nginx with the file of deploy/ below a folder."""
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8").replace("/etc/cuadre/tls", str(certificate))
    text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl").replace("127.0.0.1:8000", upstream)
    (folder / "cuadre.conf").write_text(text, encoding="utf-8")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}"
        f" http {{ access_log off; {places} include {folder}/cuadre.conf; }}",
        encoding="utf-8",
    )
    return [need("nginx"), "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")], {}


def caddy_command(folder: Path, port: int, upstream: str, certificate: Path) -> tuple[list[str], dict[str, str]]:
    """Lay out Caddy with the file of deploy/ below a folder."""
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    tls = f"\n\ttls {certificate}/fullchain.pem {certificate}/privkey.pem"
    text = text.replace("pay.your-shop.example {", f"localhost:{port} {{{tls}")
    text = text.replace("{\n\tservers", "{\n\tadmin off\n\tauto_https disable_redirects\n\tservers", 1)
    if OLD_CADDY in subprocess.run([need("caddy"), "version"], capture_output=True, text=True, check=True).stdout:
        text = text.replace("request_buffers 11MB", "buffer_requests")
    (folder / "Caddyfile").write_text(text, encoding="utf-8")
    command = [need("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    return command, {"HOME": str(folder), "CUADRE_UPSTREAM": upstream}


@contextmanager
def started(
    command: list[str], environ: Mapping[str, str], url: str, folder: Path, tls: ssl.SSLContext
) -> Iterator[None]:
    """Run a proxy until the test has ended."""
    with (folder / "log").open("wb") as log:
        own = {"PATH": os.environ["PATH"], **environ}
        process = subprocess.Popen(command, cwd=folder, env=own, stdout=log, stderr=log)
        try:
            wait_for(lambda: answers(f"{url}/healthz", tls), process, folder / "log")
            yield
        finally:
            process.terminate()
            process.wait(timeout=180)


@pytest.fixture(params=[nginx_command, caddy_command], ids=["nginx", "caddy"])
def proxy(
    request: pytest.FixtureRequest, serving: Serving, certificate: Path, tmp_path: Path
) -> Iterator[httpx.Client]:
    """A client of the program behind each proxy, over TLS."""
    port = free_port()
    command, environ = request.param(tmp_path, port, serving.url.removeprefix("http://"), certificate)
    tls = ssl.create_default_context(cafile=certificate / "fullchain.pem")
    url = f"https://localhost:{port}"
    with started(command, environ, url, tmp_path, tls), httpx.Client(base_url=url, verify=tls) as client:
        yield client


def test_a_proxy_lets_in_what_each_route_takes(proxy: httpx.Client, installation: Installation) -> None:
    """Webhooks, forms and files up to their own limits, and not a byte more; figures of the machine never."""
    webhook = ("/webhooks", "/webhooks/main")
    assert [proxy.post(path, content=b"x" * WEBHOOK).status_code for path in webhook] == [400, 400]
    assert {proxy.post(path, content=b"x" * (WEBHOOK + 1)).status_code for path in webhook} <= TOO_LARGE
    assert proxy.post("/login", content=b"x" * FORM).status_code == 400
    assert proxy.post("/login", content=b"x" * (FORM + 1)).status_code in TOO_LARGE
    assert proxy.get("/metrics").status_code == 403

    limits = file_routes(installation)
    assert len(limits) >= 4
    taken = {path: proxy.post(path, content=b"x" * min(limit, SENT)).status_code for path, limit in limits.items()}
    refused = {
        path: proxy.post(path, content=b"x" * (limit + 2 * MEGABYTE)).status_code
        for path, limit in limits.items()
        if limit < SENT
    }
    assert {path: status for path, status in taken.items() if status in TOO_LARGE} == {}
    assert refused
    assert set(refused.values()) <= TOO_LARGE


def file_routes(installation: Installation) -> dict[str, int]:
    """List an address of each route that takes files, with the largest body it takes."""
    rules = create_app(installation).url_map.iter_rules()
    return {re.sub(r"<.+?>", "invoices", one.rule): _LARGEST[one.endpoint] for one in rules if one.endpoint in _LARGEST}


def test_the_image_has_what_the_program_needs() -> None:
    """Every part that is shipped is copied and kept for the build, and no process runs as root."""
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    copied = {word for line in re.findall(r"^COPY (?!--)(.+) \S+$", dockerfile, re.MULTILINE) for word in line.split()}
    assert copied == {*SHIPPED, "locks/runtime.txt", "pyproject.toml", "README.md", "LICENSE"}
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in kept if line.startswith("!")} == copied
    assert dockerfile.rindex("USER 10001") < dockerfile.index("ENTRYPOINT")


def test_the_composition_hangs_together() -> None:
    """Each service that is waited for, each secret, volume and network is declared; ours have no rights."""
    made = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    services = made["services"]
    assert {name for one in services.values() for name in one.get("depends_on", {})} <= set(services)
    for kind in ("secrets", "networks"):
        assert {name for one in services.values() for name in one.get(kind, [])} <= set(made[kind])
    ours = [services[name] for name in ("upgrade", "web", "worker")]
    assert all(one["read_only"] and one["cap_drop"] == ["ALL"] for one in ours)
    secrets = {value.rpartition("/")[2] for name, value in ours[0]["environment"].items() if name.endswith("_FILE")}
    assert secrets == set(ours[0]["secrets"])
