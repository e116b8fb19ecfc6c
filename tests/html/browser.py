# SPDX-License-Identifier: Apache-2.0
"""Drives headless Chromium of the distribution over a pipe (the Chrome DevTools Protocol), without any network.

    with Browser() as browser:
        page = browser.open(path, width=1200, dark=False)
        page.evaluate("document.title")

Every call waits at most SECONDS for its answer; the browser and all its processes end with the block, or with this
process.
"""

import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
SECONDS = 60


def program():
    """Returns the browser, or None if the machine has none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="uvmsim_browser_", ignore_cleanup_errors=True)
        options = [
            "--headless",
            "--no-sandbox",  # tests also run as root; the page is our own
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--remote-debugging-pipe",
            f"--user-data-dir={self.folder.name}",
        ]
        # The browser reads from descriptor 3 and writes to 4, and ends when 3 is closed.
        line = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
        self.process = subprocess.Popen(
            ["sh", "-c", line, program(), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self.number = 0
        self.rest = b""
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        # The browser has processes of its own: kills its whole group.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.folder.cleanup()

    def read(self, end, what):
        while b"\0" not in self.rest:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f"no answer from the browser after {SECONDS} s: {what}")
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                raise RuntimeError(f"the browser has ended: {what}")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.process.stdin.write(json.dumps(message).encode() + b"\0")
        self.process.stdin.flush()
        end = time.monotonic() + SECONDS
        while True:
            answer = self.read(end, f"{method} {str(parameters)[:200]}")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1200, height=900, dark=False):
        return Page(self, path, width, height, dark)


class Page:
    def __init__(self, browser, path, width, height, dark):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.media(dark)
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait("Boolean(document.documentElement?.hasAttribute('data-drawn'))")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def media(self, dark=False, printed=False):
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media="print" if printed else "screen", features=features)

    def evaluate(self, expression):
        """Returns the value of a JavaScript expression, or of the promise that it returns."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + SECONDS
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"not so after {SECONDS} s: {expression}; {self.complaints()}")
            time.sleep(0.02)

    def settle(self):
        """Waits until the requested page is drawn. A hidden page draws nothing."""
        self.call("Page.bringToFront")
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def key(self, name):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name])

    def mouse(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def screenshot(self, path=None, clip=None):
        """Returns the PNG of the page as shown, or of a part of it: (x, y, width, height) in the page."""
        given = {}
        if clip:
            given = {"clip": dict(zip(("x", "y", "width", "height"), clip), scale=1), "captureBeyondViewport": True}
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png", **given)["data"])
        if path:
            pathlib.Path(path).write_bytes(png)
        return png

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def mine(self, method):
        self.evaluate("1")  # handles pending messages
        return [e["params"] for e in self.browser.events if e.get("sessionId") == self.session and e["method"] == method]

    def complaints(self):
        """Returns exceptions, errors and warnings of the console, and the browser's own."""
        found = [str(one["exceptionDetails"]) for one in self.mine("Runtime.exceptionThrown")]
        found += [str(one) for one in self.mine("Runtime.consoleAPICalled") if one["type"] in ("error", "warning", "assert")]
        found += [str(one["entry"]) for one in self.mine("Log.entryAdded") if one["entry"]["level"] in ("error", "warning")]
        return found

    def loaded(self):
        """Returns the addresses that the page requested."""
        return [one["request"]["url"] for one in self.mine("Network.requestWillBeSent")]


KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, "Escape": 27, "Tab": 9}
