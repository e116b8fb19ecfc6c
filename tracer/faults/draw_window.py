#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the raw faults around one replay: the time, SM and page of each.

    draw_window.py LOG SECTION BATCH > window.svg

SECTION is a section's name (see raw_faults.py LOG), BATCH the number of the batch in it, from 0. The picture begins
with the replay before the batch and ends with the first faults of the next batch. Exit status 2: nothing to draw.
"""
import sys

import raw_faults

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 900, 460, 70, 46, 52
BEFORE_NS, AFTER_NS = 1000, 400  # shown time before the replay and after the last fault
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")


def text(x, y, words, anchor="middle", size=13, colour="#222"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}" '
            f'font-family="sans-serif">{words}</text>')


def marked(x, y, words, anchor):
    """Returns a vertical line with a label above it."""
    return [f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#555" stroke-dasharray="4 3"/>',
            text(x, y - 5, words, anchor)]


def drawing(section, number):
    batches = raw_faults.batches_of(section)
    if not 0 < number < len(batches) - 1:
        raise raw_faults.LogError(f"batch {number}: allowed: 1 to {len(batches) - 2}")
    before, batch, after = batches[number - 1:number + 2]
    stamp = raw_faults.replay_times(section).get((before.gpu, before.number))
    if stamp is None:
        raise raw_faults.LogError(f"batch {number} has no replay before it")
    begin, end = min(stamp, batch.first_ns) - BEFORE_NS, batch.last_ns + AFTER_NS
    shown = [fault for one in (before, batch, after) for fault in one.faults if begin <= fault["gpu_ns"] <= end]
    sms = sorted({(fault["gpc"], fault["client"]) for fault in raw_faults.rows_of(section.faults)})
    rows = {sm: row for row, sm in enumerate(sms)}
    pages = {page: i for i, page in enumerate(sorted({fault["address"] // raw_faults.PAGE for fault in shown}))}
    x_of = lambda ns: LEFT + (ns - begin) * (WIDTH - LEFT - 20) / (end - begin)  # noqa: E731
    height = (HEIGHT - TOP - BOTTOM) / len(sms)
    y_of = lambda sm: TOP + rows[sm] * height  # noqa: E731
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for gpc in sorted({sm[0] for sm in sms}):
        mine = [rows[sm] for sm in sms if sm[0] == gpc]
        if gpc % 2 == 0:
            out.append(f'<rect x="{LEFT}" y="{TOP + mine[0] * height:.1f}" width="{WIDTH - LEFT - 20}" '
                       f'height="{len(mine) * height:.1f}" fill="#f0f0f0"/>')
        out.append(text(LEFT - 8, TOP + (mine[0] + len(mine) / 2) * height + 4, f"GPC {gpc}", "end", 12))
    for fault in shown:
        late = fault["batch"] != batch.number
        out.append(f'<rect x="{x_of(fault["gpu_ns"]) - 2:.1f}" y="{y_of((fault["gpc"], fault["client"])):.1f}" width="4" '
                   f'height="{max(height, 2.5):.1f}" fill="{COLOURS[pages[fault["address"] // raw_faults.PAGE] % len(COLOURS)]}"'
                   f'{" opacity=" + chr(34) + "0.35" + chr(34) if late else ""}/>')
    out += marked(x_of(stamp), TOP - 4, "replay (its GPU time)", "middle")
    out += marked(x_of(batch.last_ns), TOP - 4, "PUT is read", "middle")
    first = -((stamp - begin) // 500) * 500
    for ns in range(first, end - stamp + 1, 500):
        out.append(text(x_of(stamp + ns), HEIGHT - BOTTOM + 18, f"{ns / 1000:.1f}"))
    out.append(text((LEFT + WIDTH) / 2, HEIGHT - 12,
                    f"us from the replay; {len(batch)} raw faults of {len(batch.sms)} SMs on {len(batch.pages)} pages (colours), "
                    "pale: of other batches"))
    return "\n".join(out + ["</svg>"])


def main():
    if len(sys.argv) != 4 or not sys.argv[3].isdigit():
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else 2
    path, name, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sections = [section for process in raw_faults.read(path) for section in process.sections if section.name == name]
    if not sections:
        raise raw_faults.LogError(f"{path}: no section is called '{name}'")
    print(drawing(sections[0], number))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except raw_faults.LogError as error:
        print(f"draw_window: error: {error}", file=sys.stderr)
        sys.exit(2)
