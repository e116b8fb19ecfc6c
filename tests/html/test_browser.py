# SPDX-License-Identifier: Apache-2.0
"""Pages of `uvmsim report` in a real browser: everything is drawn, controls work, nothing is loaded, nothing complains.

Pictures of charts are compared with those in reference/, as blocks of colour: text is hidden and small shifts do not count,
so fonts and versions of the browser may differ. UVMSIM_UPDATE_PICTURES=1 writes them anew; look at them then.
"""

import io
import os
import pathlib
import subprocess
import tempfile
import unittest

import matplotlib.image
import numpy
from browser import Browser, program
from made_up import HOSTILE, write_hostile_results, write_results, write_whole_profile

UVMSIM = os.environ["UVMSIM_COMMAND"]
REFERENCE = pathlib.Path(__file__).parent / "reference"
BLOCK = 12  # pixels
# What is compared: name, the chart's title, in the page of made-up inputs.
PICTURES = {
    "slowdown": "Slowdown",
    "traffic": "Data moved: to the GPU (solid), to the host (dashed)",
    "policies": "Time relative to",
    "time": "Time of the kernels",
    "timeline": "Operations of",
}

CHARTS = "[...document.querySelectorAll('.plot')]"
ROWS = "[...document.querySelectorAll('#profile-0 tbody')][0].rows"


def setUpModule():
    if program() is None:
        print("SKIPPED: no Chromium on this machine (package chromium-headless-shell): pages are not tried in a browser")
        raise unittest.SkipTest("no Chromium on this machine")


def report(*arguments, folder):
    return subprocess.run([UVMSIM, "report", *arguments], cwd=folder, capture_output=True, text=True, check=True)


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="uvmsim_pages_")
        cls.folder = pathlib.Path(cls.temporary.name)
        write_results(cls.folder / "r.jsonl")
        write_whole_profile(cls.folder / "p.profile")
        report("r.jsonl", "p.profile", "-o", "page.html", folder=cls.folder)
        write_hostile_results(cls.folder / "evil.jsonl")
        write_whole_profile(cls.folder / "evil.profile", HOSTILE)
        report("evil.jsonl", "evil.profile", "-o", "evil.html", folder=cls.folder)
        cls.browser = Browser()
        cls.page = cls.browser.open(cls.folder / "page.html")

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.temporary.cleanup()

    def check_drawn(self, page, charts):
        self.assertEqual(page.evaluate("[...document.querySelectorAll('#charts .warning')].map((n) => n.textContent)"), [])
        empty = page.evaluate(
            f"{CHARTS}.filter((n) => {{ const b = n.querySelector(':scope > svg:last-child')?.getBoundingClientRect();"
            " return !b || b.width < 200 || b.height < 80 || n.querySelectorAll('svg path, svg rect, svg image').length < 3; })"
            ".map((n) => n.getAttribute('aria-label'))"
        )
        self.assertEqual(empty, [])
        self.assertEqual(page.evaluate(f"{CHARTS}.length"), charts)
        self.assertEqual(page.complaints(), [])
        self.assertEqual([url for url in page.loaded() if not url.startswith(("file://", "data:"))], [])
        self.assertEqual(len([url for url in page.loaded() if url.startswith("file://")]), 1)

    def test_everything_is_drawn_in_every_look(self):
        # Two programs with two charts each, a comparison, where time goes, a heat map, a timeline.
        self.check_drawn(self.page, 8)
        for width, dark in ((1600, True), (360, False)):
            with self.subTest(width=width, dark=dark):
                page = self.browser.open(self.folder / "page.html", width=width, dark=dark)
                self.check_drawn(page, 8)
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width, "nothing sticks out")
        page.media(printed=True)
        page.settle()
        self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('.controls')).display"), "none")

    def test_hostile_names_are_only_text(self):
        page = self.browser.open(self.folder / "evil.html")
        self.check_drawn(page, 8 - 2)  # both programs have one name now, and are told apart by what they hold
        self.assertNotEqual(page.evaluate("document.title"), "owned")
        self.assertEqual(page.evaluate("document.querySelectorAll('img, iframe, object, form').length"), 0)
        self.assertIn("onerror", page.evaluate("document.querySelector('h1').textContent"))

    def test_the_policy_of_the_page_refuses_other_scripts(self):
        page = self.browser.open(self.folder / "page.html")
        page.evaluate("(() => { const s = document.createElement('script'); s.textContent = 'window.owned = 1'; document.body.append(s); })()")
        self.assertIsNone(page.evaluate("window.owned ?? null"))

    def test_the_legend_shows_and_hides_series(self):
        dots = "document.querySelector('#osf .plot').querySelectorAll('[aria-label=dot] path, [aria-label=dot] circle').length"
        button = "document.querySelector('#osf .legend button')"
        before = self.page.evaluate(dots)
        self.assertEqual(self.page.evaluate(f"({button}.click(), {button}.getAttribute('aria-pressed'))"), "false")
        self.assertEqual(self.page.evaluate(dots), before - 5, "one series of five factors")
        self.page.evaluate(f"{button}.focus()")
        self.page.call("Input.dispatchKeyEvent", type="keyDown", key=" ", code="Space", windowsVirtualKeyCode=32, text=" ")
        self.page.call("Input.dispatchKeyEvent", type="keyUp", key=" ", code="Space", windowsVirtualKeyCode=32)
        self.assertEqual(self.page.evaluate(dots), before, "shown again, by the keyboard")

    def test_tables_sort_and_filter(self):
        body = "document.querySelector('#points tbody')"
        time = f"[...{body}.rows].map((r) => r.cells[5].textContent.replaceAll(',', '') * 1)"
        head = "document.querySelectorAll('#points th')[5]"
        self.page.evaluate(f"{head}.querySelector('button').click()")
        self.assertEqual(self.page.evaluate(f"{head}.getAttribute('aria-sort')"), "descending")
        values = self.page.evaluate(time)
        self.assertEqual(len(values), 2 * 6 * 6)
        self.assertEqual(values, sorted(values, reverse=True))
        self.page.evaluate(f"{head}.querySelector('button').click()")
        self.assertEqual(self.page.evaluate(time), sorted(values))
        search = "document.querySelector('#points input')"
        self.page.evaluate(f"({search}.value = 'RANDOM', {search}.dispatchEvent(new Event('input')))")
        self.assertEqual(self.page.evaluate(f"{body}.rows.length"), 2 * 6 * 3)
        self.page.evaluate(f"({search}.value = '', {search}.dispatchEvent(new Event('input')))")

    def test_arrow_keys_read_a_chart_and_hovering_shows_numbers(self):
        self.page.evaluate("document.querySelector('#osf .plot').focus()")
        self.page.key("ArrowRight")
        first = self.page.evaluate("document.querySelector('#live').textContent")
        self.assertIn("OSF 1", first)
        self.assertIn("slowdown 1×", first)
        self.page.key("End")
        self.assertIn("OSF 3", self.page.evaluate("document.querySelector('#live').textContent"))
        self.page.key("Escape")
        x, y = self.page.evaluate(
            "(() => { const n = document.querySelector('#osf [aria-label=dot] path'); n.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const b = n.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.page.mouse(x, y)
        self.assertIn("slowdown", self.page.evaluate("document.querySelector('#osf [aria-label=tip]').textContent"))

    def test_names_lead_to_the_heat_map(self):
        for table in (0, 1, 2):
            with self.subTest(table=table):
                link = f"document.querySelectorAll('#profile-0 tbody')[{table}].querySelector('a')"
                name = self.page.evaluate(f"{link}.textContent")
                self.page.evaluate(f"{link}.click()")
                self.page.settle()
                self.assertIn(name, self.page.evaluate("document.querySelector('#heat-0 .readout').textContent"))
                self.assertEqual(self.page.evaluate("location.hash"), "#heat-0")
                self.assertGreater(self.page.evaluate("document.querySelectorAll('#heat-0 .plot [aria-label=rect] rect').length"), 0)
        self.page.evaluate("document.querySelector('#heat-0 .plot').focus()")
        self.page.key("ArrowRight")
        self.page.key("ArrowUp")
        self.assertIn("address 2.0 MiB", self.page.evaluate("document.querySelector('#heat-0 .readout').textContent"))

    def test_choices_draw_again(self):
        title = "[...document.querySelectorAll('#policies figcaption')].at(-1).textContent"
        self.page.evaluate("(() => { const s = document.querySelectorAll('#policies select')[1]; s.value = 1; s.dispatchEvent(new Event('change')); })()")
        self.assertIn("OSF 1", self.page.evaluate(title))
        heat = "(() => { const s = document.querySelector('#heat-0 select'); s.value = 1; s.dispatchEvent(new Event('change')); })()"
        self.page.evaluate(heat)
        self.assertIn("touched", self.page.evaluate("document.querySelector('#heat-0 .plot').getAttribute('aria-label')"))
        zoom = "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Zoom in').click()"
        self.page.evaluate(zoom)
        self.assertEqual(self.page.complaints(), [])

    def test_people_who_do_not_see_it_can_use_it(self):
        unnamed = self.page.evaluate(
            "[...document.querySelectorAll('button, a, select, input, [role=group], [role=region]')].filter((n) => !(n.getAttribute('aria-label')"
            " || n.textContent.trim() || n.labels?.length)).map((n) => n.outerHTML.slice(0, 80))"
        )
        self.assertEqual(unnamed, [])
        self.assertEqual(self.page.evaluate("document.documentElement.lang"), "en")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('h1').length"), 1)
        self.assertEqual(self.page.evaluate("document.querySelectorAll('thead th:not([scope])').length"), 0)
        self.page.evaluate("(() => { const d = document.querySelector('#osf details'); d.open = true; })()")
        self.page.wait("document.querySelectorAll('#osf details tbody tr').length > 0")

    def test_pictures_are_as_before(self):
        for dark in (False, True):
            page = self.browser.open(self.folder / "page.html", width=900, dark=dark)
            page.evaluate("document.head.append(Object.assign(document.createElement('style'), {textContent: 'svg text { visibility: hidden }'}))")
            for name, title in PICTURES.items():
                with self.subTest(name, dark=dark):
                    plot = f"{CHARTS}.find((n) => n.getAttribute('aria-label').startsWith({title!r})).querySelector(':scope > svg:last-child')"
                    clip = page.evaluate(
                        f"(() => {{ const b = {plot}.getBoundingClientRect(); return [b.x + scrollX, b.y + scrollY, b.width, b.height]; }})()"
                    )
                    self.compare(page.screenshot(clip=clip), REFERENCE / f"{name}_{'dark' if dark else 'light'}.png")

    def compare(self, png, path):
        if os.environ.get("UVMSIM_UPDATE_PICTURES"):
            path.write_bytes(png)
        now, before = blocks(matplotlib.image.imread(io.BytesIO(png))), blocks(matplotlib.image.imread(path))
        self.assertEqual(now.shape, before.shape, f"{path.name}: another size")
        off = numpy.abs(now - before).max(axis=2)
        self.assertLess(off.mean(), 0.02, f"{path.name}: other colours in the mean")
        self.assertLess((off > 0.2).mean(), 0.02, f"{path.name}: blocks of another colour")


def blocks(picture):
    """Mean colours of squares."""
    rows, columns = picture.shape[0] // BLOCK, picture.shape[1] // BLOCK
    whole = picture[: rows * BLOCK, : columns * BLOCK, :3]
    return whole.reshape(rows, BLOCK, columns, BLOCK, 3).mean(axis=(1, 3))


if __name__ == "__main__":
    unittest.main()
