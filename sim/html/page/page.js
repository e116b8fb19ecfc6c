// SPDX-License-Identifier: Apache-2.0
// Draws the charts and tables of a report from its data. Texts of the data only ever become text nodes, attributes of
// charts' texts, or titles: nothing of them is parsed as HTML.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const charts = document.getElementById("charts");
  const sections = document.getElementById("sections");
  const live = document.getElementById("live");
  const GIB = 2 ** 30;
  const COLOURS = [0, 1, 2, 3, 4, 5, 6].map((n) => `var(--c${n})`);
  const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross", "wye"];
  const SYMBOL_TYPES = {
    circle: d3.symbolCircle, square: d3.symbolSquare, triangle: d3.symbolTriangle, diamond: d3.symbolDiamond,
    star: d3.symbolStar, cross: d3.symbolCross, wye: d3.symbolWye,
  };
  const PARTS = [
    ["compute_ns", "computing"], ["necessary_bytes_ns", "necessary bytes"], ["excess_bytes_ns", "excess bytes"],
    ["fault_latency_ns", "fault latency"], ["serialisation_ns", "serialisation"],
  ];
  const MOST_SERIES = 10, MOST_PANELS = 12, MOST_POLICIES = 40, LONGEST_NAME = 90;

  // ---- small things

  // el("p", {class: "note"}, "text", child): strings are text, never markup.
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }
  const grouped = d3.format(",");
  const number = (value, digits = 0) => (value === null || value === undefined ? "–" : d3.format(`,.${digits}f`)(value));
  const ms = (ns) => (ns === null ? "–" : number(ns / 1e6, Math.abs(ns) >= 1e8 ? 0 : Math.abs(ns) >= 1e6 ? 1 : 3));
  const gib = (bytes) => number(bytes / GIB, 3);
  const factor = (thousandths) => d3.format("~r")(thousandths / 1000);
  const ratio = (value) => (value === null || value === undefined ? "–" : value >= 1e4 ? number(value) : d3.format(",.3~r")(value));
  const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  // Long names differ at their ends as often as in their beginnings.
  const cutMiddle = (text, most) => (text.length > most ? text.slice(0, Math.ceil(most * 0.6)) + "…" + text.slice(text.length - Math.floor(most * 0.4) + 1) : text);
  const bytesText = (bytes) =>
    bytes >= GIB ? number(bytes / GIB, 2) + " GiB" : bytes >= 2 ** 20 ? number(bytes / 2 ** 20, 1) + " MiB" : number(bytes / 1024, 0) + " KiB";
  let printing = false;
  const dark = () => !printing && matchMedia("(prefers-color-scheme: dark)").matches;
  const look = (n) => ({ colour: COLOURS[n % COLOURS.length], symbol: SYMBOLS[(n + Math.floor(n / COLOURS.length)) % SYMBOLS.length] });

  let ids = 0;
  const freshId = (stem) => `${stem}-${++ids}`;

  function section(id, title, note) {
    const node = el("section", { id }, el("h2", {}, title));
    if (note) node.append(el("p", { class: "note" }, note));
    charts.append(node);
    return node;
  }
  function say(text) { live.textContent = text; }

  // What cannot be drawn says so in its place.
  function guarded(host, what, draw) {
    try {
      draw();
    } catch (error) {
      host.append(el("p", { class: "warning" }, `${what} could not be drawn: ${error.message}`));
      console.error(error);
    }
  }

  function select(label, options, onchange, chosen = 0) {
    const box = el("select", {}, ...options.map((text, i) => el("option", { value: i, selected: i === chosen }, cut(text, 90))));
    box.addEventListener("change", () => onchange(Number(box.value)));
    return el("label", {}, label, box);
  }

  function swatch(n, dashed) {
    const { colour, symbol } = look(n);
    const svg = d3.create("svg").attr("width", 26).attr("height", 14).attr("viewBox", "-13 -7 26 14").attr("aria-hidden", "true");
    svg.append("path").attr("d", "M-12,0H12").attr("stroke", colour).attr("stroke-width", 2).attr("stroke-dasharray", dashed ? "4,3" : null);
    svg.append("path").attr("d", d3.symbol(SYMBOL_TYPES[symbol], 46)()).attr("fill", colour);
    return svg.node();
  }

  // Buttons that show and hide series; `shown` is a set of numbers.
  function legend(names, numbers, shown, onchange) {
    const box = el("div", { class: "legend", role: "group", "aria-label": "Series shown" });
    const buttons = numbers.map((n) => {
      const button = el("button", { type: "button", "aria-pressed": String(shown.has(n)), title: names[n] }, swatch(n), cut(names[n], 80));
      button.addEventListener("click", () => {
        if (shown.has(n)) shown.delete(n); else shown.add(n);
        button.setAttribute("aria-pressed", String(shown.has(n)));
        onchange();
      });
      return button;
    });
    box.append(...buttons);
    if (numbers.length > 2) {
      const all = (on) => {
        for (const [i, n] of numbers.entries()) {
          if (on) shown.add(n); else shown.delete(n);
          buttons[i].setAttribute("aria-pressed", String(on));
        }
        onchange();
      };
      box.append(el("button", { type: "button", class: "no-print", onclick: () => all(true) }, "all"),
                 el("button", { type: "button", class: "no-print", onclick: () => all(false) }, "none"));
    }
    return box;
  }

  // ---- charts

  const redraws = [];
  // A chart with its title, what it says for those who do not see it, its points for the keyboard and its numbers as a
  // table. `draw(width)` returns {svg, points: [{x, y, text}] in pixels, in reading order}.
  function chart(host, { title, says, draw, table }) {
    const plot = el("div", { class: "plot", tabindex: "0", role: "group", "aria-roledescription": "chart", "aria-label": title });
    const readout = el("p", { class: "readout" });
    const numbers = el("details", {}, el("summary", {}, "Numbers of this chart"));
    const figure = el("figure", { class: "chart" }, el("figcaption", {}, title), plot, readout, numbers);
    host.append(figure);
    let drawn = null, at = -1, width = 0;
    const show = (index) => {
      if (!drawn || !drawn.points.length) return;
      at = Math.max(0, Math.min(drawn.points.length - 1, index));
      const point = drawn.points[at];
      d3.select(drawn.svg).selectAll("circle.at").data([point]).join("circle").attr("class", "at")
        .attr("cx", (p) => p.x).attr("cy", (p) => p.y).attr("r", 9).attr("fill", "none").attr("stroke", "var(--focus)").attr("stroke-width", 3);
      readout.textContent = point.text;
      say(point.text);
    };
    const hide = () => {
      at = -1;
      if (drawn) d3.select(drawn.svg).selectAll("circle.at").remove();
      readout.textContent = "";
    };
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: at + 1, ArrowLeft: at < 0 ? 0 : at - 1, Home: 0, End: Infinity }[event.key];
      if (event.key === "Escape") hide();
      else if (step !== undefined) { event.preventDefault(); show(step); }
    });
    plot.addEventListener("blur", hide);
    const redraw = () => {
      width = Math.max(280, Math.floor(plot.clientWidth || host.clientWidth || 640));
      hide();
      plot.replaceChildren();
      for (const old of figure.querySelectorAll(":scope > .warning")) old.remove();
      guarded(figure, title, () => {
        drawn = draw(width);
        plot.setAttribute("aria-label", `${title}. ${says(drawn)} Arrow keys go from point to point.`);
        plot.append(drawn.svg);
        if (drawn.above) plot.prepend(drawn.above);
        numbers.querySelector(".table-scroll")?.remove();
        if (table && numbers.open) fill();
      });
    };
    const fill = () => {
      if (!numbers.querySelector(".table-scroll")) numbers.append(plainTable(title, table().columns, table().rows));
    };
    if (table) numbers.addEventListener("toggle", () => numbers.open && fill()); else numbers.remove();
    redraws.push({ plot, redraw, width: () => width });
    redraw();
    return redraw;
  }
  function plainTable(caption, columns, rows) {
    return el("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": caption },
      el("table", {}, el("caption", { class: "visually-hidden" }, caption),
        el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, String(cell))))))));
  }

  const AXES = { marginTop: 22, marginBottom: 36, style: { background: "transparent", color: "var(--fg)" } };
  const finish = (svg) => { svg.setAttribute("aria-hidden", "true"); return svg; };

  // Factors that have room for their number.
  function ticksOf(factors, width) {
    const shown = [];
    const sorted = [...new Set(factors)].sort((a, b) => b - a);
    const span = Math.log(sorted[0] / sorted[sorted.length - 1]) || 1;
    for (const one of sorted) {
      if (!shown.length || Math.log(shown[shown.length - 1] / one) / span * width > 34) shown.push(one);
    }
    return shown.reverse();
  }
  const factorAxis = (factors, width) => ({
    type: "log", domain: [d3.min(factors) / 1.09, d3.max(factors) * 1.09], ticks: ticksOf(factors, width),
    tickFormat: (d) => d3.format("~r")(d), label: "oversubscription factor (footprint / GPU memory)", labelAnchor: "center",
    labelArrow: "none", grid: false,
  });
  // 1, 2, 5 of each decade where there are few, else the decades.
  function logTicks(low, high) {
    const exponents = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
    const steps = exponents.length <= 4 ? [1, 2, 5] : [1];
    return exponents.flatMap((e) => steps.map((m) => m * 10 ** e)).filter((v) => v >= low && v <= high);
  }
  // From 0, or logarithmic where ratios span more than `threshold`.
  function valueAxis(values, label, threshold) {
    const positive = values.filter((v) => v > 0);
    const most = d3.max(values) || 1;
    const log = positive.length > 1 && d3.max(positive) / d3.min(positive) > threshold;
    const domain = log ? [d3.min(positive) / 1.3, most * 1.4] : [0, most * 1.12];
    return {
      type: log ? "log" : "linear", domain, label, labelArrow: "none", grid: true, tickFormat: d3.format(",~r"), nice: !log,
      ticks: log ? logTicks(...domain) : 5,
    };
  }

  // ---- points: places (one per series and limit, over its seeds)

  function placesOf(points) {
    const column = Object.fromEntries(points.columns.map((name, i) => [name, i]));
    const rows = points.rows.map((row) => Object.fromEntries(points.columns.map((name) => [name, row[column[name]]])));
    const places = new Map();
    for (const row of rows) {
      const key = [row.panel, row.series, row.limited, row.limited ? row.osf : 0].join();
      if (!places.has(key)) places.set(key, []);
      places.get(key).push(row);
    }
    const over = (members, of) => {
      const values = members.map(of);
      return values.some((v) => v === null) ? null : { mean: d3.mean(values), low: d3.min(values), high: d3.max(values) };
    };
    const all = [...places.values()].map((members) => ({
      ...members[0], members, seeds: members.length, osf: members[0].osf / 1000,
      time: over(members, (m) => m.time_ns / 1e6), slowdown: over(members, (m) => (m.slowdown === null ? null : m.slowdown / 1000)),
      htod: over(members, (m) => m.htod_bytes / GIB), dtoh: over(members, (m) => m.dtoh_bytes / GIB),
    }));
    all.sort((a, b) => d3.ascending(a.panel, b.panel) || d3.ascending(a.series, b.series) || d3.ascending(a.limited ? a.osf : 0, b.limited ? b.osf : 0));
    return { rows, all };
  }
  const limitName = (place) => (place.limited ? `OSF ${d3.format("~r")(place.osf)}` : "no limit");
  const seedsText = (place, value, format) =>
    place.seeds > 1 && value.high > value.low ? ` (${place.seeds} seeds: ${format(value.low)} to ${format(value.high)})` : place.seeds > 1 ? ` (${place.seeds} seeds, all alike)` : "";
  const unsettledText = (place) => place.members.filter((m) => m.settled === false).map((m) => `\nnot settled: mean of iterations ${m.first_iteration} to ${m.last_iteration}, ${number(m.shortest_ns / 1e6, 1)} to ${number(m.longest_ns / 1e6, 1)} ms`).join("");

  // Points with the GPU's whole memory belong in no curve, unless there is nothing else.
  function curvePlaces(places) {
    const limited = places.filter((p) => p.limited);
    return limited.length ? limited : places;
  }

  function lines(host, { title, unit, places, names, shown, measures, axisLabel }) {
    // measures: [{name, of(place) -> {mean, low, high}, dashed}]
    const visible = () => places.filter((p) => shown.has(p.series));
    const keys = [...new Set(places.map((p) => p.series))];
    const text = (p, m) => `${names[p.series]}\n${limitName(p)} (${bytesText(p.capacity)})\n${m.name} ${ratio(m.of(p).mean)}${unit}${seedsText(p, m.of(p), ratio)}${unsettledText(p)}`;
    return chart(host, {
      title,
      says: () => {
        const values = visible().flatMap((p) => measures.map((m) => m.of(p).mean));
        return values.length ? `${new Set(visible().map((p) => p.series)).size} series, from ${ratio(d3.min(values))} to ${ratio(d3.max(values))}${unit}.` : "Nothing is shown.";
      },
      table: () => ({
        columns: ["series", "limit", ...measures.map((m) => m.name + (unit === "×" ? " (×)" : unit)), "seeds"],
        rows: visible().map((p) => [names[p.series], limitName(p), ...measures.map((m) => ratio(m.of(p).mean)), p.seeds]),
      }),
      draw: (width) => {
        const drawn = visible();
        const flat = drawn.flatMap((p) => measures.map((m) => ({ x: p.osf, series: String(p.series), m, ...m.of(p), place: p, text: text(p, m) })));
        const marks = [];
        for (const m of measures) {
          const of = flat.filter((d) => d.m === m);
          marks.push(Plot.ruleX(of.filter((d) => d.high > d.low), { x: "x", y1: "low", y2: "high", stroke: "series", strokeWidth: 1.5, marker: "tick-x" }));
          marks.push(Plot.lineY(of, { x: "x", y: "mean", z: "series", stroke: "series", strokeWidth: 2, strokeDasharray: m.dashed ? "5,4" : null }));
          marks.push(Plot.dot(of, { x: "x", y: "mean", stroke: "series", symbol: "series", fill: m.dashed ? "var(--bg)" : "series", r: m.dashed ? 3 : 4.5 }));
        }
        const all = places.flatMap((p) => measures.flatMap((m) => [m.of(p).low, m.of(p).high]));
        const svg = Plot.plot({
          ...AXES, width, height: Math.max(220, Math.min(300, width * 0.62)), marginLeft: 54, marginRight: 16,
          x: factorAxis(places.map((p) => p.osf), width - 70), y: valueAxis(all.concat(unit === "×" ? [1] : []), axisLabel, unit === "×" ? 20 : Infinity),
          color: { type: "categorical", domain: keys.map(String), range: keys.map((n) => look(n).colour) },
          symbol: { type: "categorical", domain: keys.map(String), range: keys.map((n) => look(n).symbol) },
          marks: [
            unit === "×" ? Plot.ruleY([1], { stroke: "var(--soft)", strokeDasharray: "2,3" }) : null, ...marks,
            Plot.tip(flat, Plot.pointer({ x: "x", y: "mean", title: "text", maxRadius: 60, lineWidth: 34 })),
          ],
        });
        const x = svg.scale("x"), y = svg.scale("y");
        const points = flat.filter((d) => d.mean > 0 || y.type === "linear").map((d) => ({ x: x.apply(d.x), y: y.apply(d.mean), text: d.text.replaceAll("\n", ", ") }));
        return { svg: finish(svg), points };
      },
    });
  }

  function osfSection(points, all) {
    const per = points.rows.some((row) => row[points.columns.indexOf("settled")] === "run") ? "in the run" : "per iteration";
    const host = section("osf", "Slowdown and traffic over the oversubscription factor",
      "Slowdown: time over that under the driver's own policies with room for all. Points over several seeds are means, with bars from the smallest to the largest. Hover, or focus a chart and press arrow keys, for numbers.");
    const numbers = points.series.map((_, n) => n);
    const shown = new Set(numbers.slice(0, MOST_SERIES));
    let chosen = -1;
    const grid = el("div", { class: "panels" });
    const notes = el("p", { class: "note" });
    let drawn = [];
    const build = () => {
      forget(grid);
      grid.replaceChildren();
      drawn = [];
      const wanted = points.panels.map((_, n) => n).filter((n) => chosen < 0 || chosen === n);
      grid.classList.toggle("one", wanted.length === 1);
      for (const n of wanted.slice(0, MOST_PANELS)) {
        const places = curvePlaces(all.filter((p) => p.panel === n));
        const panel = el("div", { class: wanted.length === 1 ? "panel alone" : "panel" }, el("h3", {}, points.panels[n]));
        grid.append(panel);
        const known = places.filter((p) => p.slowdown !== null);
        const common = { names: points.series, shown };
        if (known.length) {
          drawn.push(lines(panel, { ...common, title: "Slowdown", unit: "×", axisLabel: "slowdown (×)", places: known, measures: [{ name: "slowdown", of: (p) => p.slowdown }] }));
          if (known.length < places.length) panel.append(el("p", { class: "note" }, `${places.length - known.length} places hold no run to compare with and have no slowdown.`));
        } else {
          drawn.push(lines(panel, { ...common, title: "Time (these results hold no run to compare with)", unit: " ms", axisLabel: "time (ms)", places, measures: [{ name: "time", of: (p) => p.time }] }));
        }
        drawn.push(lines(panel, { ...common, title: "Data moved: to the GPU (solid), to the host (dashed)", unit: " GiB", axisLabel: `GiB ${per}`, places,
          measures: [{ name: "to the GPU", of: (p) => p.htod }, { name: "to the host", of: (p) => p.dtoh, dashed: true }] }));
      }
      notes.textContent = wanted.length > MOST_PANELS ? `The first ${MOST_PANELS} of ${wanted.length} programs and systems are drawn; choose others above.` : "";
    };
    if (points.panels.length > 1) {
      host.append(el("div", { class: "controls" }, select("Program", ["all", ...points.panels], (n) => { chosen = n - 1; build(); })));
    }
    if (numbers.length > 1) host.append(legend(points.series, numbers, shown, () => drawn.forEach((redraw) => redraw())));
    if (numbers.length > MOST_SERIES) host.append(el("p", { class: "note" }, `${MOST_SERIES} of ${numbers.length} series are shown at first.`));
    host.append(grid, notes);
    build();
  }
  // Charts that are taken away are drawn no more.
  function forget(host) {
    for (let i = redraws.length - 1; i >= 0; --i) if (host.contains(redraws[i].plot)) redraws.splice(i, 1);
  }

  // ---- policies at one limit

  function policiesSection(points, all) {
    const panels = points.panels.map((_, n) => n).filter((n) => new Set(all.filter((p) => p.panel === n).map((p) => p.series)).size > 1);
    if (!panels.length) return;
    const host = section("policies", "Compared at one limit",
      "Time over that of the one chosen as baseline: left of 1 is faster. Bars reach from the smallest to the largest of several seeds, of the baseline's mean.");
    let panel = panels[0], limit = null, base = null;
    const controls = el("div", { class: "controls" }), body = el("div", {});
    host.append(controls, body);
    const limitsOf = () => {
      const counts = d3.rollup(all.filter((p) => p.panel === panel), (g) => g.length, limitName);
      return [...counts].filter(([, count]) => count > 1);
    };
    const build = () => {
      const limits = limitsOf();
      if (!limits.some(([name]) => name === limit)) {
        const most = d3.max(limits, ([, count]) => count);
        limit = limits.filter(([, count]) => count === most).at(-1)?.[0];
      }
      const places = all.filter((p) => p.panel === panel && limitName(p) === limit);
      if (!places.some((p) => p.series === base)) base = places[0]?.series;
      controls.replaceChildren(
        ...(panels.length > 1 ? [select("Program", panels.map((n) => points.panels[n]), (i) => { panel = panels[i]; build(); }, panels.indexOf(panel))] : []),
        select("Limit", limits.map(([name]) => name), (i) => { limit = limits[i][0]; build(); }, limits.findIndex(([name]) => name === limit)),
        select("Baseline", places.map((p) => points.series[p.series]), (i) => { base = places[i].series; build(); }, places.findIndex((p) => p.series === base)));
      forget(body);
      body.replaceChildren();
      if (!places.length) { body.append(el("p", {}, "No limit at which two of them ran.")); return; }
      const over = places.find((p) => p.series === base).time.mean;
      const bars = places.map((p) => ({ p, name: points.series[p.series], ratio: p.time.mean / over, low: p.time.low / over, high: p.time.high / over }))
        .sort((a, b) => a.ratio - b.ratio);
      const drawn = bars.slice(0, MOST_POLICIES);
      if (!drawn.some((b) => b.p.series === base)) drawn.push(bars.find((b) => b.p.series === base));
      const text = (b) => `${b.name}\n${ratio(b.ratio)} × ${points.series[base]} (${number(b.p.time.mean, 1)} ms)${seedsText(b.p, { low: b.low, high: b.high }, ratio)}${unsettledText(b.p)}`;
      dotPlot(body, { title: `Time relative to ${points.series[base]}, ${points.panels[panel]}, ${limit}`, bars: drawn, text, label: "time / baseline's (×)" });
      if (bars.length > drawn.length) body.append(el("p", { class: "note" }, `The fastest ${drawn.length} of ${bars.length}; the table of points has all.`));
    };
    build();
  }

  // bars: [{name, ratio, low, high}]
  function dotPlot(host, { title, bars, text, label }) {
    chart(host, {
      title,
      says: () => `${bars.length} entries, from ${ratio(d3.min(bars, (b) => b.ratio))} to ${ratio(d3.max(bars, (b) => b.ratio))}.`,
      table: () => ({ columns: ["name", label, "smallest", "largest"], rows: bars.map((b) => [b.name, ratio(b.ratio), ratio(b.low), ratio(b.high)]) }),
      draw: (width) => {
        const most = Math.floor(Math.min(width * 0.45, 380) / 6.4);
        const marginLeft = Math.min(Math.max(...bars.map((b) => Math.min(b.name.length, most))) * 6.4 + 16, width * 0.5);
        const ends = bars.flatMap((b) => [b.low, b.high]).concat([1]).filter((v) => v > 0);
        const log = d3.max(ends) / d3.min(ends) > 5;
        const keys = bars.map((_, i) => String(i));
        const rows = bars.map((b, i) => ({ ...b, key: String(i), text: text(b) }));
        const svg = Plot.plot({
          ...AXES, width, height: 22 * bars.length + 64, marginLeft, marginRight: 18, marginTop: 8, marginBottom: 40,
          x: { type: log ? "log" : "linear", domain: log ? [d3.min(ends) / 1.1, d3.max(ends) * 1.1] : [Math.min(0.9, d3.min(ends) * 0.97), Math.max(1.1, d3.max(ends) * 1.03)], label, labelAnchor: "center", labelArrow: "none", grid: true, ticks: log ? logTicks(d3.min(ends) / 1.1, d3.max(ends) * 1.1) : 6, tickFormat: d3.format(",~r") },
          y: { domain: keys, tickFormat: (key) => cut(bars[Number(key)].name, most), label: null, tickSize: 0 },
          marks: [
            Plot.ruleX([1], { stroke: "var(--fg)" }),
            Plot.ruleY(rows.filter((r) => r.high > r.low), { y: "key", x1: "low", x2: "high", stroke: "var(--c0)", strokeWidth: 2 }),
            Plot.tickX(rows.filter((r) => r.high > r.low).flatMap((r) => [{ ...r, end: r.low }, { ...r, end: r.high }]), { y: "key", x: "end", stroke: "var(--c0)", strokeWidth: 2, inset: 5 }),
            Plot.dot(rows, { y: "key", x: "ratio", fill: (r) => r.colour || "var(--c0)", stroke: "var(--bg)", r: 5.5 }),
            Plot.tip(rows, Plot.pointerY({ y: "key", x: "ratio", title: "text", lineWidth: 34 })),
          ],
        });
        const x = svg.scale("x"), y = svg.scale("y");
        return { svg: finish(svg), points: rows.map((r) => ({ x: x.apply(r.ratio), y: y.apply(r.key) + y.bandwidth / 2, text: r.text.replaceAll("\n", ", ") })) };
      },
    });
  }

  // ---- where the time goes

  // [[name, colour], ...]
  function coloursKey(entries) {
    return el("div", { class: "legend", "aria-hidden": "true" }, ...entries.map(([name, colour]) =>
      el("span", { class: "key" }, d3.create("svg").attr("width", 14).attr("height", 14).call((s) => s.append("rect").attr("width", 14).attr("height", 14).attr("fill", colour)).node(), name)));
  }
  // rows: [{name, parts: [ms, ...], note}]
  function stackedBars(host, { title, rows, names, label, colours }) {
    chart(host, {
      title,
      says: () => `${rows.length} bars of ${names.join(", ")}.`,
      table: () => ({ columns: ["", ...names, "sum"], rows: rows.map((r) => [r.name, ...r.parts.map((p) => number(p, 1)), number(d3.sum(r.parts), 1)]) }),
      draw: (width) => {
        const most = Math.floor(Math.min(width * 0.4, 340) / 6.4);
        const marginLeft = Math.min(Math.max(...rows.map((r) => Math.min(r.name.length, most))) * 6.4 + 16, width * 0.45);
        const longest = d3.max(rows, (r) => d3.sum(r.parts)) || 1;
        const cells = rows.flatMap((r, i) => {
          let from = 0;
          const sum = d3.sum(r.parts) || 1;
          return r.parts.map((part, j) => {
            const cell = { key: String(i), x1: from, x2: from + part, part: j, share: part / sum, text: `${r.name}\n${names[j]}: ${number(part, 1)} ms, ${number(100 * part / sum, 1)} %` };
            from += part;
            return cell;
          });
        }).filter((c) => c.x2 > c.x1);
        const inner = width - marginLeft - 18;
        const named = cells.filter((c) => (c.x2 - c.x1) / longest * inner > 38);
        const svg = Plot.plot({
          ...AXES, width, height: 26 * rows.length + 64, marginLeft, marginRight: 18, marginTop: 8, marginBottom: 40,
          x: { domain: [0, longest], label, labelAnchor: "center", labelArrow: "none", grid: true, ticks: 5, tickFormat: d3.format(",~r") },
          y: { domain: rows.map((_, i) => String(i)), tickFormat: (key) => cut(rows[Number(key)].name, most), label: null, tickSize: 0, padding: 0.18 },
          marks: [
            Plot.barX(cells, { y: "key", x1: "x1", x2: "x2", fill: (c) => `var(--p${colours[c.part]})`, stroke: "var(--bg)", strokeWidth: 1 }),
            Plot.text(named, { y: "key", x: (c) => (c.x1 + c.x2) / 2, text: (c) => `${number(100 * c.share)} %`, fill: (c) => `var(--on-p${colours[c.part]})` }),
            Plot.tip(cells, Plot.pointer({ y: "key", x: (c) => (c.x1 + c.x2) / 2, title: "text", lineWidth: 34 })),
          ],
        });
        const x = svg.scale("x"), y = svg.scale("y");
        return { svg: finish(svg), points: cells.map((c) => ({ x: x.apply((c.x1 + c.x2) / 2), y: y.apply(c.key) + y.bandwidth / 2, text: c.text.replaceAll("\n", ", ") })), above: coloursKey(names.map((name, i) => [name, `var(--p${colours[i]})`])) };
      },
    });
  }

  function timeSection(points, all) {
    const bounded = all.filter((p) => p.members.every((m) => m.bound_ns !== null));
    const withBounds = bounded.length > 0;
    const host = section("time", "Where the time goes", withBounds
      ? "The whole run: computing and what no policy can avoid (necessary bytes) are the lower bound; excess bytes, fault latency and serialisation (waiting for each other) lie above it."
      : "Time of all kernels together: computing, and waiting for memory. Results with --bounds also say what no policy can avoid.");
    const usable = withBounds ? bounded : all;
    const combinations = [...d3.group(usable, (p) => `${p.panel},${p.series}`).values()];
    const name = (group) => [points.panels.length > 1 ? points.panels[group[0].panel] : null, points.series.length > 1 ? points.series[group[0].series] : null].filter(Boolean).join(": ") || points.panels[group[0].panel];
    const body = el("div", {});
    const build = (i) => {
      forget(body);
      body.replaceChildren();
      const group = combinations[i];
      const mean = (p, key) => d3.mean(p.members, (m) => m[key]) / 1e6;
      stackedBars(body, withBounds
        ? { title: `Time of the whole run, ${name(group)}`, names: PARTS.map(([, text]) => text), colours: [0, 1, 2, 3, 4], label: "ms", rows: group.map((p) => ({ name: limitName(p), parts: PARTS.map(([key]) => mean(p, key)) })) }
        : { title: `Time of the kernels, ${name(group)}`, names: ["computing", "waiting for memory"], colours: [0, 3], label: "ms, summed over kernels",
            rows: group.map((p) => ({ name: limitName(p), parts: [mean(p, "kernel_compute_ns"), Math.max(0, mean(p, "kernel_ns") - mean(p, "kernel_compute_ns"))] })) });
    };
    if (combinations.length > 1) host.append(el("div", { class: "controls" }, select("Of", combinations.map(name), build)));
    host.append(body);
    build(0);
  }

  // ---- tables that sort and filter

  // columns: [{title, of(row), text(row) (default: of), kind: "number" or "text", explain}]; link: {title(row), go(row)} for
  // the first column.
  function dataTable(host, { caption, columns, rows, sort, link, note }) {
    const search = el("input", { type: "search", placeholder: "part of a text", id: freshId("filter"), autocomplete: "off" });
    const count = el("span", { class: "note", role: "status" });
    const body = el("tbody", { class: rows.length > 40 ? "long" : null });
    const heads = columns.map((column, i) => {
      const button = el("button", { type: "button", title: column.explain || null }, column.title, el("span", { "aria-hidden": "true" }, ""));
      button.addEventListener("click", () => {
        order = order.column === i ? { column: i, down: !order.down } : { column: i, down: column.kind === "number" };
        fill();
      });
      return el("th", { scope: "col", class: column.kind === "number" ? "number" : null }, button);
    });
    let order = sort || { column: 0, down: false };
    const nodes = rows.map((row) => {
      const cells = columns.map((column, i) => {
        const text = String((column.text || column.of)(row) ?? "–");
        const shown = column.kind === "text" ? cutMiddle(text, LONGEST_NAME) : text;
        const cell = el("td", { class: column.kind === "number" ? "number" : column.kind === "command" ? "text command" : column.word ? "text word" : i === 0 && link ? "text name" : "text", title: shown === text ? null : text });
        if (i === 0 && link && link.of(row)) {
          const a = el("a", { href: link.href, title: shown === text ? link.title : `${text}\n(${link.title})` }, shown);
          a.addEventListener("click", () => {
            for (const other of body.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
            node.setAttribute("aria-current", "true");
            link.go(row);
          });
          cell.append(a);
        } else if (column.kind === "command") {
          cell.append(el("code", {}, text));
        } else {
          cell.append(shown);
        }
        return cell;
      });
      const node = el("tr", {}, ...cells);
      return { row, node, haystack: columns.filter((c) => c.kind !== "number").map((c) => String((c.text || c.of)(row) ?? "")).join("\n").toLowerCase() };
    });
    const fill = () => {
      const { of } = columns[order.column];
      const absent = (value) => value === null || value === undefined;
      const wanted = search.value.trim().toLowerCase();
      const shown = nodes.filter((one) => one.haystack.includes(wanted));
      shown.sort((a, b) => {
        const x = of(a.row), y = of(b.row);
        if (absent(x) || absent(y)) return Number(absent(x)) - Number(absent(y));
        return order.down ? d3.descending(x, y) : d3.ascending(x, y);
      });
      body.replaceChildren(...shown.map((one) => one.node));
      for (const [i, head] of heads.entries()) {
        const sorted = i === order.column;
        if (sorted) head.setAttribute("aria-sort", order.down ? "descending" : "ascending"); else head.removeAttribute("aria-sort");
        head.querySelector("span").textContent = sorted ? (order.down ? " ▼" : " ▲") : "";
      }
      count.textContent = shown.length === nodes.length ? `${grouped(nodes.length)} rows` : `${grouped(shown.length)} of ${grouped(nodes.length)} rows`;
    };
    search.addEventListener("input", fill);
    host.append(
      el("h3", {}, caption),
      el("div", { class: "controls" }, el("label", { for: search.id }, "Filter"), search, count),
      el("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": caption },
        el("table", {}, el("caption", { class: "visually-hidden" }, `${caption}. Column headers sort.`), el("thead", {}, el("tr", {}, ...heads)), body)));
    if (rows.length > 40) host.append(el("p", { class: "note printed-only" }, "Printed are the first 40 rows, as sorted; the page has all."));
    if (note) host.append(el("p", { class: "note" }, note));
    fill();
  }
  const text = (title, of, more) => ({ title, of, kind: "text", ...more });
  const num = (title, of, format, explain) => ({ title, of, kind: "number", text: (row) => (of(row) === null || of(row) === undefined ? "–" : (format || grouped)(of(row))), explain });

  function pointsSection(points, rows) {
    const host = section("points", "All points");
    const settled = (r) => (r.settled === "run" ? "whole run" : r.settled === true ? `after ${r.learning}` : r.settled === false ? `not settled: iterations ${r.first_iteration}-${r.last_iteration}, ${ms(r.shortest_ns)} to ${ms(r.longest_ns)} ms` : "not known");
    dataTable(host, {
      caption: "Points", rows, sort: { column: 0, down: false },
      columns: [
        text("program", (r) => points.panels[r.panel], { word: points.panels.every((name) => name.length < 24) }), text("series", (r) => points.series[r.series]),
        { ...num("OSF", (r) => (r.limited ? r.osf : null), factor, "footprint / GPU memory; –: no limit") },
        num("capacity GiB", (r) => r.capacity, gib), num("footprint GiB", (r) => r.footprint, gib), num("time ms", (r) => r.time_ns, ms, "of the settled iterations, or of the whole run"),
        num("slowdown", (r) => r.slowdown, (v) => number(v / 1000, 3), "against the driver's own policies with room for all"),
        num("time / bound", (r) => (r.bound_ns ? r.total_ns / r.bound_ns : null), (v) => number(v, 2), "the whole run over what no policy can beat"),
        num("to GPU GiB", (r) => r.htod_bytes, gib), num("to host GiB", (r) => r.dtoh_bytes, gib), num("fault batches", (r) => r.fault_batches),
        num("evictions", (r) => r.evictions, null, "2 MiB each"), text("seed", (r) => r.seed, { word: true }), text("settled", settled, { word: true }), text("policies", (r) => r.policies, { word: true }), text("layout", (r) => r.layout, { word: true }),
        { title: "command", of: (r) => r.command || "–", kind: "command" },
      ],
      note: rows.some((r) => r.hypothetical) ? "Some capacities are hypothetical: the GPU has less." : null,
    });
  }

  // ---- league

  function leagueSection(league) {
    const host = section("league", "League", `${league.rule.slice(0, 1).toUpperCase()}${league.rule.slice(1)}; contests counted: ${league.counted_contests}. Policies of class D4 know the future; they are ranked among themselves (o1, o2, ...).`);
    const mark = (one) => `${one.plugin ? "▶ " : ""}${one.name} (${one.information_class || "–"})`;
    const rank = (one) => (one.rank === null ? null : (one.oracle ? 1e6 : 0) + one.rank);
    const rankText = (one) => (one.rank === null ? "–" : (one.oracle ? "o" : "") + one.rank);
    const million = (v) => number(v / 1e6, 3), thousand = (v) => number(v / 1e3, 3);
    const ranked = league.overall.filter((one) => one.rank !== null && one.over_driver_millionths !== null);
    if (ranked.length) {
      const kinds = [["shipped", "var(--c0)", true], ["from a plug-in", "var(--c1)", ranked.some((one) => one.plugin)], ["knows the future", "var(--c2)", ranked.some((one) => one.oracle)]].filter(([, , there]) => there);
      if (kinds.length > 1) host.append(coloursKey(kinds));
      guarded(host, "The overall ranking", () => dotPlot(host, {
        title: "Time over that under the driver's policies: geometric mean, bars from the best to the worst contest", label: "time / driver's (×)",
        bars: ranked.slice(0, 60).map((one) => ({ name: mark(one), ratio: one.over_driver_millionths / 1e6, low: (one.best_over_driver_thousandths ?? 0) / 1e3, high: (one.worst_over_driver_thousandths ?? 0) / 1e3,
          colour: one.plugin ? "var(--c1)" : one.oracle ? "var(--c2)" : "var(--c0)" })),
        text: (b) => `${b.name}\n${ratio(b.ratio)} × the driver's, from ${ratio(b.low)} to ${ratio(b.high)}`,
      }));
    }
    dataTable(host, {
      caption: "Overall", rows: league.overall, sort: { column: 0, down: false },
      columns: [
        { title: "rank", of: rank, text: rankText, kind: "number" }, text("policy", mark), num("/ driver", (o) => o.over_driver_millionths, million, "geometric mean"),
        num("best", (o) => o.best_over_driver_thousandths, thousand), num("worst", (o) => o.worst_over_driver_thousandths, thousand),
        num("/ bound", (o) => o.over_bound_millionths, million), num("contests", (o) => o.contests), num("first in", (o) => o.first), num("not settled", (o) => o.unsettled),
      ],
    });
    const body = el("div", {});
    const build = (i) => {
      const contest = league.contests[i];
      forget(body);
      body.replaceChildren();
      const finished = contest.standings.filter((one) => one.status === "finished");
      if (finished.length) {
        stackedBars(body, { title: `Where the whole run's time goes: ${contest.label}`, names: PARTS.map(([, name]) => name), colours: [0, 1, 2, 3, 4], label: "ms",
          rows: finished.slice(0, 40).map((one) => ({ name: `${rankText(one)}  ${mark(one)}`, parts: PARTS.map(([key]) => Math.max(0, one[key] ?? 0) / 1e6) })) });
        if (finished.length > 40) body.append(el("p", { class: "note" }, `The first 40 of ${finished.length}.`));
      }
      dataTable(body, {
        caption: `Standings: ${contest.label}`, rows: contest.standings, sort: { column: 0, down: false },
        columns: [
          { title: "rank", of: rank, text: rankText, kind: "number" }, text("policy", mark), text("status", (o) => (o.error ? `${o.status}: ${o.error}` : o.is_settled === false ? "not settled" : o.status)),
          num("time ms", (o) => o.time_ns ?? null, ms), num("/ driver", (o) => o.over_driver_thousandths ?? null, thousand), num("/ bound", (o) => o.over_bound_thousandths ?? null, thousand),
        ],
      });
    };
    if (league.contests.length) {
      host.append(el("h3", {}, "Contests"), el("div", { class: "controls" }, select("Contest", league.contests.map((c) => c.label), build)), body);
      build(0);
    }
  }

  // ---- profiles

  function profileSection(profile, n, several) {
    const suffix = several ? ` ${n + 1}` : "";
    const host = section(`profile-${n}`, `Profile${suffix}: ${profile.title}`, `Tables are about ${profile.about}. Waiting: what a kernel takes longer than with everything resident.`);
    const rowsOf = (table) => table.rows.map((row) => Object.fromEntries(table.columns.map((name, i) => [name, row[i]])));
    const rest = (table) => (table.left_out ? `${grouped(table.left_out)} more rows with ${ms(table.left_out_stall_ns)} ms of waiting are left out.` : null);
    const map = heatMap(host, profile, n);
    const link = { href: `#heat-${n}`, title: "show it in the heat map" };
    const stalls = [
      num("waiting ms", (r) => r.stall_ns, ms), num("batches", (r) => r.fault_batches, null, "fault batches"), num("came back", (r) => r.reloaded_pages, null, "pages that came again after an eviction"),
      num("to GPU MiB", (r) => r.htod_bytes, (v) => number(v / 2 ** 20, 1)), num("to host MiB", (r) => r.dtoh_bytes, (v) => number(v / 2 ** 20, 1)),
    ];
    guarded(host, "The timeline", () => timeline(host, profile));
    const byWaiting = (column) => ({ column, down: true });
    dataTable(host, {
      caption: "Kernels, by name", rows: rowsOf(profile.kernels), sort: byWaiting(4), note: rest(profile.kernels),
      link: { ...link, of: (r) => r.spans.length && map, go: (r) => map.mark(r.name, { spans: r.spans }) },
      columns: [text("kernel", (r) => r.name), num("launches", (r) => r.launches), num("time ms", (r) => r.duration_ns, ms), num("computing ms", (r) => r.compute_ns, ms), ...stalls, num("evictions", (r) => r.evictions)],
    });
    dataTable(host, {
      caption: "Layers", rows: rowsOf(profile.layers), sort: byWaiting(4), note: rest(profile.layers),
      link: { ...link, of: (r) => r.spans.length && map, go: (r) => map.mark(r.path, { spans: r.spans }) },
      columns: [text("layer", (r) => r.path), num("kernels", (r) => r.kernels, null, "launched right in it"), num("time ms", (r) => r.duration_ns, ms), num("computing ms", (r) => r.compute_ns, ms), stalls[0],
        num("with inner ms", (r) => r.nested_stall_ns, ms, "waiting of it and of the layers within it"), ...stalls.slice(1), num("evictions", (r) => r.evictions)],
    });
    dataTable(host, {
      caption: "Tensors and other memory", rows: rowsOf(profile.tensors), sort: byWaiting(5), note: rest(profile.tensors),
      link: { ...link, of: (r) => r.area && map, go: (r) => map.mark(r.name, { area: r.area }) },
      columns: [text("name", (r) => r.name), text("kind", (r) => r.kind, { word: true }), text("lives", (r) => r.lifetime, { word: true }), text("made in layer", (r) => r.layer), num("size MiB", (r) => r.bytes, (v) => number(v / 2 ** 20, 2)), ...stalls,
        num("fault pages", (r) => r.faulting_pages), num("operations", (r) => r.operations, null, "that touch it")],
    });
  }

  const MAPS = [
    ["resident_bytes", "in GPU memory", "part resident (%)"], ["touched_bytes", "touched", "touches per byte"], ["faulted_bytes", "faults", "faulting pages (MiB)"],
    ["loaded_bytes", "copied to the GPU", "MiB"], ["evicted_bytes", "evicted", "MiB"],
  ];

  function heatMap(host, profile, n) {
    if (!profile.heat.length) {
      host.append(el("p", { class: "note" }, "No heat map: the run touched no managed memory."));
      return null;
    }
    const box = el("div", { id: `heat-${n}`, tabindex: "-1" }, el("h3", {}, "Memory over time"));
    const controls = el("div", { class: "controls" });
    const plot = el("div", { class: "plot", tabindex: "0", role: "group", "aria-roledescription": "heat map" });
    const readout = el("p", { class: "readout" });
    box.append(controls, el("figure", { class: "chart" }, plot, readout),
      el("p", { class: "note" }, "Time runs to the right, simulated addresses upwards; empty cells hold nothing. Names in the tables below mark where and when they are. With the keyboard: focus the map, then arrow keys."));
    host.append(box);
    let device = 0, measure = 0, window_ns = null, marked = null, width = 0, svg = null, cursor = null;
    const grid = () => profile.heat[device];
    const spans = () => {
      const { marks, end_ns } = grid();
      return [["whole run", [0, end_ns]], ...marks.map(([iteration, start], i) => [`iteration ${iteration}`, [start, i + 1 < marks.length ? marks[i + 1][1] : end_ns]])];
    };
    const value = (cell) => {
      const g = grid(), kib = g[MAPS[measure][0]][cell];
      if (measure === 0) return (kib * 1024 * 100) / g.cell_bytes;
      if (measure === 1) return (kib * 1024) / g.cell_bytes;
      return kib / 1024;
    };
    const at = (time_ns, address) => {
      const g = grid();
      const column = Math.floor(time_ns / g.cell_ns), line = Math.floor(address / g.cell_bytes);
      if (column < 0 || line < 0 || column >= g.columns || line >= g.lines) return null;
      return { column, line, text: `at ${ms(column * g.cell_ns)} ms, address ${bytesText(line * g.cell_bytes)}: ${number(value(line * g.columns + column), 2)} ${MAPS[measure][2]}` };
    };
    const putCursor = (cell, spoken) => {
      const ring = d3.select(svg).selectAll("rect.at");
      if (!cell) { ring.remove(); readout.textContent = ""; return; }
      const g = grid(), x = svg.scale("x"), y = svg.scale("y");
      d3.select(svg).selectAll("rect.at").data([cell]).join("rect").attr("class", "at").attr("fill", "none").attr("stroke", "var(--focus)").attr("stroke-width", 2)
        .attr("x", x.apply(cell.column * g.cell_ns / 1e6) - 2).attr("y", y.apply((cell.line + 1) * g.cell_bytes / 2 ** 20) - 2)
        .attr("width", Math.max(2, x.apply((cell.column + 1) * g.cell_ns / 1e6) - x.apply(cell.column * g.cell_ns / 1e6)) + 4)
        .attr("height", Math.max(2, y.apply(cell.line * g.cell_bytes / 2 ** 20) - y.apply((cell.line + 1) * g.cell_bytes / 2 ** 20)) + 4);
      readout.textContent = cell.text;
      if (spoken) say(cell.text);
    };
    const redraw = () => {
      width = Math.max(280, Math.floor(plot.clientWidth || 640));
      for (const old of box.querySelectorAll(".chart > .warning")) old.remove();
      plot.replaceChildren();
      guarded(box.querySelector(".chart"), "The heat map", () => {
        const g = grid(), [begin, end] = window_ns || [0, g.end_ns];
        const first = Math.max(0, Math.floor(begin / g.cell_ns)), last = Math.max(first + 1, Math.min(g.columns, Math.ceil(end / g.cell_ns)));
        // Whole cells: of an axis that ends within one the raster loses columns.
        const from = first * g.cell_ns, to = last * g.cell_ns, top = (g.lines * g.cell_bytes) / 2 ** 20;
        const values = [];
        for (let line = 0; line < g.lines; ++line) {
          for (let column = first; column < last; ++column) {
            const v = value(line * g.columns + column);
            values.push(v > 0 ? v : NaN);
          }
        }
        const known = values.filter((v) => v > 0);
        const most = d3.max(known) ?? 1, least = Math.max(d3.min(known) ?? 1, most / 1e4);
        const log = measure > 0 && most > least * 10;
        svg = Plot.plot({
          ...AXES, width, height: Math.max(260, Math.min(420, width * 0.45)), marginLeft: 62, marginRight: 12,
          x: { domain: [from / 1e6, to / 1e6], label: "time (ms); upwards: address (MiB)", labelAnchor: "center", labelArrow: "none", ticks: 6, tickFormat: d3.format(",~r") },
          y: { domain: [0, top], label: null, ticks: 6, tickFormat: d3.format(",~r") },
          color: { type: log ? "log" : "linear", domain: measure === 0 ? [0, 100] : log ? [least, most] : [0, most], scheme: "cividis", reverse: !dark(), clamp: true, label: MAPS[measure][2], tickFormat: d3.format(",~r") },
          marks: [
            Plot.raster(values, { width: last - first, height: g.lines, x1: from / 1e6, x2: to / 1e6, y1: 0, y2: top, imageRendering: "pixelated", interpolate: null }),
            Plot.ruleX(g.marks.filter(([, start]) => start >= from && start <= to), { x: ([, start]) => start / 1e6, stroke: "var(--fg)", strokeDasharray: "2,3" }),
            Plot.text(g.marks.filter(([, start]) => start >= from && start <= to), { x: ([, start]) => start / 1e6, text: ([iteration]) => `iteration ${iteration}`, frameAnchor: "top", textAnchor: "start", dx: 4, dy: -12 }),
            marked && marked.spans ? Plot.rect(marked.spans.filter(([a, b]) => b >= from && a <= to), { x1: ([a]) => Math.max(a, from) / 1e6, x2: ([, b]) => Math.min(b, to) / 1e6, y1: 0, y2: top, fill: "var(--mark)", fillOpacity: 0.25, stroke: "var(--mark)", strokeWidth: 1 }) : null,
            marked && marked.area ? Plot.rect([marked.area], { x1: ([a]) => Math.max(a, from) / 1e6, x2: ([, b]) => Math.min(b ?? g.end_ns, to) / 1e6, y1: ([, , y]) => Math.min(y / 2 ** 20, top), y2: ([, , y, size]) => Math.min((y + Math.max(size, g.cell_bytes)) / 2 ** 20, top), fill: "none", stroke: "var(--mark)", strokeWidth: 2.5 }) : null,
          ],
        });
        finish(svg);
        const key = svg.legend("color", { width: Math.min(320, width - 20), label: `${MAPS[measure][1]}: ${MAPS[measure][2]}`, tickFormat: d3.format(",~r"), ticks: 5, style: { background: "transparent", color: "var(--fg)" } });
        key.setAttribute("aria-hidden", "true");
        plot.append(key, svg);
        const shown = marked ? ` Marked: ${marked.name}.` : "";
        plot.setAttribute("aria-label", `Memory over time: ${MAPS[measure][1]}, from ${ms(from)} to ${ms(to)} ms, ${bytesText(g.lines * g.cell_bytes)} of addresses.${shown} Arrow keys go from cell to cell.`);
        svg.addEventListener("pointermove", (event) => {
          const [px, py] = d3.pointer(event, svg);
          const x = svg.scale("x"), y = svg.scale("y");
          putCursor(at(x.invert(px) * 1e6, y.invert(py) * 2 ** 20), false);
        });
        svg.addEventListener("pointerleave", () => putCursor(null));
      });
      cursor = null;
      if (marked) readout.textContent = `Marked: ${marked.name}`;
    };
    plot.addEventListener("keydown", (event) => {
      const move = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], Home: [0, 0] }[event.key];
      if (event.key === "Escape") { cursor = null; putCursor(null); return; }
      if (!move || !svg) return;
      event.preventDefault();
      const g = grid(), [from, to] = window_ns || [0, g.end_ns];
      const low = Math.floor(from / g.cell_ns), high = Math.min(g.columns - 1, Math.ceil(to / g.cell_ns) - 1);
      const step = event.shiftKey ? 10 : 1;
      cursor = cursor && event.key !== "Home" ? [Math.max(low, Math.min(high, cursor[0] + step * move[0])), Math.max(0, Math.min(g.lines - 1, cursor[1] + step * move[1]))] : [low, 0];
      putCursor(at((cursor[0] + 0.5) * g.cell_ns, (cursor[1] + 0.5) * g.cell_bytes), true);
    });
    plot.addEventListener("blur", () => putCursor(null));
    const build = () => {
      controls.replaceChildren(
        select("Show", MAPS.map(([, name]) => name), (i) => { measure = i; redraw(); }, measure),
        select("Time", spans().map(([name]) => name), (i) => { window_ns = i === 0 ? null : spans()[i][1]; redraw(); }),
        ...(profile.heat.length > 1 ? [select("GPU", profile.heat.map((g) => `GPU ${g.device}`), (i) => { device = i; window_ns = null; build(); redraw(); }, device)] : []),
        el("button", { type: "button", onclick: () => { marked = null; redraw(); readout.textContent = ""; } }, "Remove marks"));
    };
    build();
    redraws.push({ plot, redraw, width: () => width });
    redraw();
    return {
      mark(name, what) {
        marked = { name: cut(name, 120), ...what };
        redraw();
        say(`Marked in the heat map: ${marked.name}`);
      },
    };
  }

  function timeline(host, profile) {
    const { names, rows, operations } = profile.timeline;
    if (!rows.length) {
      host.append(el("p", { class: "note" }, `No timeline: the profile holds no operations of ${profile.about}.`));
      return;
    }
    const ops = rows.map(([kind, name, layer, device, stream, start, duration, stall, batches, htod, dtoh]) => ({
      kind: names[kind], name: names[name], layer: names[layer], lane: `GPU ${device}, stream ${stream}`, start: start / 1e6, end: (start + duration) / 1e6,
      stall: Math.max(0, Math.min(stall, duration)) / 1e6, batches, htod, dtoh,
    }));
    for (const o of ops) {
      o.text = `${cut(o.name || o.kind, 100)}\n${cut(o.layer || "no layer", 100)}\nfrom ${number(o.start, 3)} ms: ${number(o.end - o.start, 3)} ms, waiting ${number(o.stall, 3)} ms\n${o.batches} fault batches, ${bytesText(o.htod)} in, ${bytesText(o.dtoh)} out`;
    }
    const lanes = [...new Set(ops.map((o) => o.lane))].sort();
    const first = d3.min(ops, (o) => o.start), last = d3.max(ops, (o) => o.end);
    let from = first, to = last;
    host.append(el("h3", {}, "Timeline: an excerpt"), el("p", { class: "note" },
      (operations > ops.length ? `${grouped(ops.length)} of ${grouped(operations)} operations of ${profile.about}, where kernels waited longest. ` : `All ${grouped(ops.length)} operations of ${profile.about}. `) +
      "Each bar is an operation; the lower part is as long as its waiting, wherever within the operation that was. `uvmsim run --timeline` writes all of it for ui.perfetto.dev."));
    const controls = el("div", { class: "controls", role: "group", "aria-label": "Part of the timeline" });
    host.append(controls);
    const redraw = chart(host, {
      title: `Operations of ${profile.about}`,
      says: () => `${ops.filter((o) => o.end >= from && o.start <= to).length} operations from ${number(from, 1)} to ${number(to, 1)} ms.`,
      table: () => ({ columns: ["operation", "layer", "start ms", "ms", "waiting ms", "fault batches"], rows: ops.filter((o) => o.end >= from && o.start <= to).map((o) => [o.name || o.kind, o.layer, number(o.start, 3), number(o.end - o.start, 3), number(o.stall, 3), o.batches]) }),
      draw: (width) => {
        const drawn = ops.filter((o) => o.end >= from && o.start <= to).map((o) => ({ ...o, x1: Math.max(o.start, from), x2: Math.min(o.end, to), stallEnd: Math.min(Math.max(o.start + o.stall, from), to) }));
        const pixels = (o) => (o.x2 - o.x1) / (to - from) * (width - 118);
        const named = drawn.filter((o) => pixels(o) > 70);
        const svg = Plot.plot({
          ...AXES, width, height: 62 * lanes.length + 50, marginLeft: 104, marginRight: 14, marginTop: 6,
          x: { domain: [from, to], label: "time (ms)", labelAnchor: "center", labelArrow: "none", ticks: 6, tickFormat: d3.format(",~r"), grid: true },
          y: { domain: lanes, label: null, tickSize: 0, padding: 0.12 },
          marks: [
            Plot.barX(drawn, { x1: "x1", x2: "x2", y: "lane", fill: (o) => (o.kind === "kernel" ? "var(--p4)" : "var(--p0)"), insetRight: 0.4 }),
            Plot.barX(drawn.filter((o) => o.stall > 0), { x1: "x1", x2: "stallEnd", y: "lane", fill: "var(--p3)", insetTop: 30, insetRight: 0.4 }),
            Plot.text(named, { x: "x1", y: "lane", text: (o) => cut(o.name || o.kind, Math.floor((pixels(o) - 6) / 8)), textAnchor: "start", dx: 3, dy: -12, fill: (o) => (o.kind === "kernel" ? "var(--on-p4)" : "var(--on-p0)") }),
            Plot.tip(drawn, Plot.pointerX({ x: (o) => (o.x1 + o.x2) / 2, y: "lane", title: "text", lineWidth: 40 })),
          ],
        });
        const x = svg.scale("x"), y = svg.scale("y");
        return { svg: finish(svg), points: drawn.map((o) => ({ x: x.apply((o.x1 + o.x2) / 2), y: y.apply(o.lane) + y.bandwidth / 2, text: o.text.replaceAll("\n", ", ") })), above: coloursKey([["kernel", "var(--p4)"], ["copy, prefetch or discard", "var(--p0)"], ["waiting for memory", "var(--p3)"]]) };
      },
    });
    const go = (newFrom, newTo) => {
      const length = Math.min(last - first, Math.max((last - first) / 4096, newTo - newFrom));
      from = Math.max(first, Math.min(last - length, newFrom));
      to = from + length;
      redraw();
      say(`From ${number(from, 1)} to ${number(to, 1)} ms`);
    };
    for (const [name, f] of [
      ["Zoom in", () => go(from + (to - from) / 4, to - (to - from) / 4)], ["Zoom out", () => go(from - (to - from) / 2, to + (to - from) / 2)],
      ["Earlier", () => go(from - (to - from) / 2, to - (to - from) / 2)], ["Later", () => go(from + (to - from) / 2, to + (to - from) / 2)], ["All of it", () => go(first, last)],
    ]) controls.append(el("button", { type: "button", onclick: f }, name));
  }
  // ---- all of it

  if (data.league) guarded(charts, "The league", () => leagueSection(data.league));
  if (data.points) {
    const { rows, all } = placesOf(data.points);
    guarded(charts, "Slowdown and traffic", () => osfSection(data.points, all));
    guarded(charts, "The comparison", () => policiesSection(data.points, all));
    guarded(charts, "Where the time goes", () => timeSection(data.points, all));
    data.profiles.forEach((profile, n) => guarded(charts, "A profile", () => profileSection(profile, n, data.profiles.length > 1)));
    guarded(charts, "The table of points", () => pointsSection(data.points, rows));
  } else {
    data.profiles.forEach((profile, n) => guarded(charts, "A profile", () => profileSection(profile, n, data.profiles.length > 1)));
  }
  for (const node of document.querySelectorAll("main > section[id], #charts > section[id]")) {
    sections.append(el("a", { href: `#${node.id}` }, node.querySelector("h2").textContent));
  }

  // Drawn again where the width or the colours change.
  let pending = 0;
  const later = (all) => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => {
      for (const one of redraws) if (all || Math.abs(one.plot.clientWidth - one.width()) > 8) one.redraw();
    });
  };
  addEventListener("resize", () => later(false));
  // Paper is white.
  for (const [name, now] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(name, () => {
      printing = now;
      if (matchMedia("(prefers-color-scheme: dark)").matches) redraws.forEach((one) => one.redraw());
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener?.("change", () => later(true));
  document.documentElement.setAttribute("data-drawn", "true");
})();
