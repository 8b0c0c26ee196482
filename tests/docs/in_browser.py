"""The page for browsers prints in Chromium what the pages show.

``PYODIDE=folder python -m pytest tests/docs/in_browser.py``, where the folder has a distribution of
Pyodide.  Pages are run whose packages it has, as new as funcdiff's extras ask for; all pages whose
packages it has, however old, with ``OLD=1``.  Needs hatchling, packaging, and ``chromium`` on the
path.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from docs import browser

PYODIDE = Path(os.environ["PYODIDE"])
ROOT = Path(browser.__file__).parents[1]


def has(package: str) -> bool:
    """Return whether the distribution has a package that is new enough."""
    found = json.loads((PYODIDE / "pyodide-lock.json").read_text())["packages"].get(package)
    if found is None or not (PYODIDE / found["file_name"]).exists():
        return False
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    asked = [Requirement(line) for extra in extras.values() for line in extra]
    wanted = [one.specifier for one in asked if one.name == package]
    return "OLD" in os.environ or all(found["version"] in one for one in wanted)


PAGES = [page for page in browser.lessons() if all(map(has, page.packages))]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and keeps what is posted."""

    outputs: Any = None
    arrived = threading.Event()

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        type(self).outputs = json.loads(self.rfile.read(length))
        self.send_response(204)
        self.end_headers()
        self.arrived.set()

    def log_message(self, *args: Any) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what the examples print in the browser."""
    folder = tmp_path_factory.mktemp("site")
    browser.write(folder)
    found = json.loads((folder / "lessons.json").read_text(encoding="utf-8"))
    found["lessons"] = [
        page for page in found["lessons"] if page["page"] in {p.page for p in PAGES}
    ]
    (folder / "lessons.json").write_text(json.dumps(found), encoding="utf-8")
    (folder / "pyodide").symlink_to(PYODIDE.resolve())
    handler = functools.partial(Handler, directory=str(folder))
    chromium = shutil.which("chromium")
    assert chromium is not None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/index.html?check&pyodide=pyodide/"
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}/profile",
        ]
        process = subprocess.Popen([chromium, *options, "--enable-logging=stderr", address])
        try:
            assert Handler.arrived.wait(timeout=540)
        finally:
            process.terminate()
            process.wait()
            server.shutdown()
    return Handler.outputs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.page)
def test_the_examples_print_in_the_browser_what_the_page_shows(page: Any, outputs: Any) -> None:
    assert "\n".join(browser.differences(page, outputs[page.page])) == ""
