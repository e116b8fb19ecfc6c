# SPDX-License-Identifier: Apache-2.0
"""Opens pages of `uvmsim report` in a real browser: everything is drawn, controls work, nothing is loaded, and there
are no errors or warnings.

No picture is kept to compare with, because other fonts and versions of the browser draw other pixels. Instead
positions of marks are read back through the numbers of the axes, and screenshots must show the series' colours, in
the light and the dark style.
"""

import io
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import matplotlib.image
import numpy
from browser import Browser, program
from made_up import HOSTILE, points, write_hostile_results, write_results, write_whole_profile

UVMSIM = os.environ["UVMSIM_COMMAND"]

CHARTS = "[...document.querySelectorAll('.plot')]"
# Two programs with two charts each, a comparison, the parts of the time, a heat map, a timeline.
HOW_MANY = 8
# Colours as the browser computes them: names of the page's properties, first those of text, then those of series.
COLOURS = """(() => {
  const probe = document.body.appendChild(document.createElement('i'));
  const of = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map(Number); };
  const all = Object.fromEntries(['bg', 'panel', 'fg', 'soft', 'link', 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6'].map((name) => [name, of(name)]));
  probe.remove();
  return all;
})()"""
# Labels of an axis and where they are; where the marks of a chart are.
TICKS = "(axis) => [...PLOT.querySelectorAll(`[aria-label='${axis}-axis tick label'] text`)].map((n) => [n.textContent, n.getAttribute('transform')])"
DOTS = "[...PLOT.querySelectorAll('[aria-label=dot] path, [aria-label=dot] circle')].map((n) => [n.getAttribute('transform'), n.getAttribute('fill')])"


def setUpModule():
    if program() is None:
        print("SKIPPED: no Chromium on this machine (package chromium-headless-shell): pages are not tried in a browser")
        raise unittest.SkipTest("no Chromium on this machine")


def report(*arguments, folder):
    subprocess.run([UVMSIM, "report", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60)


def place(transform):
    return [float(value) for value in re.findall(r"-?[0-9.]+", transform)[:2]]


def scale(ticks, axis, log):
    """Returns a function that reads a value from a position, by two labels of the axis."""
    known = [(place(at)[axis], float(text.replace(",", ""))) for text, at in ticks]
    (a, low), (b, high) = known[0], known[-1]
    to, back = (math.log, math.exp) if log else (float, float)
    return lambda at: back(to(low) + (at - a) / (b - a) * (to(high) - to(low)))


def contrast(one, other):
    """Returns the contrast ratio as defined by WCAG 2."""

    def luminance(colour):
        parts = [c / 255 for c in colour]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="uvmsim_pages_")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        write_results(cls.folder / "r.jsonl")
        write_whole_profile(cls.folder / "p.profile")
        report("r.jsonl", "p.profile", "-o", "page.html", folder=cls.folder)
        write_hostile_results(cls.folder / "evil.jsonl")
        write_whole_profile(cls.folder / "evil.profile", HOSTILE)
        report("evil.jsonl", "evil.profile", "-o", "evil.html", folder=cls.folder)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.page = cls.browser.open(cls.folder / "page.html")

    def open(self, name="page.html", **look):
        page = self.browser.open(self.folder / name, **look)
        self.addCleanup(page.close)
        return page

    def check_drawn(self, page, charts=HOW_MANY):
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

    def picture(self, page, chart):
        """Returns the pixels of a chart without its texts."""
        plot = f"{CHARTS}[{chart}].querySelector(':scope > svg:last-child')"
        page.evaluate(f"{plot}.querySelectorAll('text').forEach((n) => n.style.visibility = 'hidden')")
        page.settle()
        clip = page.evaluate(f"(() => {{ const b = {plot}.getBoundingClientRect(); return [b.x + scrollX, b.y + scrollY, b.width, b.height]; }})()")
        return numpy.rint(matplotlib.image.imread(io.BytesIO(page.screenshot(clip=clip)))[:, :, :3] * 255)

    def test_everything_is_drawn_in_every_look(self):
        self.check_drawn(self.page)
        for width, dark in ((1600, True), (360, False)):
            with self.subTest(width=width, dark=dark):
                page = self.open(width=width, dark=dark)
                self.check_drawn(page)
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width, "nothing sticks out")

    def test_printed_it_has_no_controls(self):
        page = self.open(dark=True)
        page.media(dark=True, printed=True)
        self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('.controls')).display"), "none")
        self.assertEqual(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        pdf = page.pdf()
        self.assertTrue(pdf.startswith(b"%PDF-"))
        self.assertIn(len(re.findall(rb"/Type\s*/Page\b", pdf)), range(3, 20))

    def test_marks_are_where_the_numbers_are(self):
        plot = f"{CHARTS}[0]"
        ticks, dots = (self.page.evaluate(text.replace("PLOT", plot)) for text in (f"({TICKS})('x')", DOTS))
        x = scale(ticks, 0, log=True)
        ticks = self.page.evaluate(f"({TICKS})('y')".replace("PLOT", plot))
        values = [float(text) for text, _ in ticks]
        self.assertEqual(values, sorted(values))
        y = scale(ticks, 1, log=values[0] > 0)
        drawn = sorted((x(place(at)[0]), y(place(at)[1])) for at, _ in dots)
        of_seeds = {}
        mine = [p for p in points() if p.program == "gpt2"]
        base = mine[0].duration_ns
        for p in mine:
            if p.osf is not None:
                of_seeds.setdefault((p.osf, p.prefetch, p.evict), []).append(round(1000 * p.duration_ns / base) / 1000)
        expected = sorted((key[0], sum(seeds) / len(seeds)) for key, seeds in of_seeds.items())
        self.assertEqual(len(drawn), len(expected))
        for (got_x, got_y), (osf, slowdown) in zip(drawn, expected):
            self.assertAlmostEqual(got_x, osf, delta=0.01 * osf)
            self.assertAlmostEqual(got_y, slowdown, delta=0.01 * slowdown)

    def test_the_heat_map_has_all_of_its_cells(self):
        # Eight times by four addresses; the highest address is empty; the run ends within the last time.
        filled = self.page.evaluate("""(async () => {
          const image = new Image();
          image.src = [...document.querySelectorAll('#heat-0 .plot svg')].at(-1).querySelector('image').getAttribute('href');
          await image.decode();
          const canvas = document.createElement('canvas');
          [canvas.width, canvas.height] = [image.width, image.height];
          const context = canvas.getContext('2d');
          context.drawImage(image, 0, 0);
          const pixels = context.getImageData(0, 0, image.width, image.height).data;
          const rows = Array.from({length: image.height}, (_, y) => Array.from({length: image.width}, (_, x) => Math.sign(pixels[4 * (y * image.width + x) + 3])));
          return rows;
        })()""")
        self.assertEqual(sorted(filled), [[0] * 8] + [[1] * 8] * 3)

    def test_pictures_show_the_colours_of_their_series(self):
        for dark in (False, True):
            with self.subTest(dark=dark):
                page = self.open(width=900, dark=dark)
                colours = page.evaluate(COLOURS)
                for name in ("fg", "soft", "link"):
                    self.assertGreaterEqual(min(contrast(colours[name], colours[on]) for on in ("bg", "panel")), 4.5, name)
                for number in range(7):
                    self.assertGreaterEqual(contrast(colours[f"c{number}"], colours["bg"]), 3, f"series {number}")
                for chart in range(HOW_MANY):
                    pixels = self.picture(page, chart)
                    drawn = numpy.abs(pixels - colours["bg"]).max(axis=2) > 40
                    self.assertGreater(drawn.mean(), 0.005, f"chart {chart} is empty")
                    if chart >= 4:
                        continue
                    for number in range(4):
                        mine = numpy.abs(pixels - colours[f"c{number}"]).max(axis=2) < 12
                        self.assertGreater(mine.sum(), 60, f"series {number} in chart {chart}")

    def test_hostile_names_are_only_text(self):
        page = self.open("evil.html")
        self.check_drawn(page)
        self.assertNotEqual(page.evaluate("document.title"), "owned")
        self.assertEqual(page.evaluate("document.querySelectorAll('img, iframe, object, form').length"), 0)
        self.assertIn("onerror", page.evaluate("document.querySelector('h1').textContent"))
        names = page.evaluate("[...document.querySelectorAll('#osf .panel h3')].map((n) => n.textContent)")
        self.assertEqual(len(set(names)), 2, "two traces of one name are told apart")

    def test_the_policy_of_the_page_refuses_other_scripts(self):
        page = self.open()
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
        page = self.open()
        page.evaluate("document.querySelector('#osf .plot').focus()")
        page.key("ArrowRight")
        first = page.evaluate("document.querySelector('#live').textContent")
        self.assertIn("OSF 1", first)
        self.assertIn("slowdown 1×", first)
        page.key("End")
        self.assertIn("OSF 3", page.evaluate("document.querySelector('#live').textContent"))
        page.key("Escape")
        page.evaluate("document.querySelector('#osf .plot').scrollIntoView({block: 'center', behavior: 'instant'})")
        page.settle()
        x, y = page.evaluate("(() => { const b = document.querySelector('#osf [aria-label=dot] path').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        page.mouse(x, y)
        page.wait("document.querySelector('#osf [aria-label=tip]').textContent.includes('slowdown')")

    def test_names_lead_to_the_heat_map(self):
        for table in (0, 1, 2):
            with self.subTest(table=table):
                link = f"document.querySelectorAll('#profile-0 tbody')[{table}].querySelector('a')"
                name = self.page.evaluate(f"{link}.textContent")
                self.page.evaluate(f"{link}.click()")
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
        shown = f"{CHARTS}.at(-1).getAttribute('aria-label')"
        before = self.page.evaluate(shown)
        self.page.evaluate("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Zoom in').click()")
        self.assertNotEqual(self.page.evaluate(shown), before)
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


if __name__ == "__main__":
    unittest.main()
