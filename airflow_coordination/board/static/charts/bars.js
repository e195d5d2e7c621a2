// Bars that stand on each other by moment, with axes, a cursor for mouse and keys, and perhaps a line and marks: inline SVG.

import { h, visible } from "../parts.js";
import { colourOf } from "../states.js";

const { useEffect, useRef, useState } = globalThis.React;
const { Box, Button, HStack, Text } = globalThis.ChakraUI;

const LEFT = 46; // of the axis, and below the width that a line's own axis takes
const RIGHT = 52;
const TOP = 20;
const FOOT = 22;
const MARGIN = 8;
const MOST = 24; // signs of what a mark says
const THIN = 1.5; // pixels of what there is little of
const KEYS = Object.assign(Object.create(null), { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity });

/** Steps of an axis from zero to at least `most`: 1, 2 or 5 times a power of ten. */
export function steps(most, wanted = 3) {
  const rough = Math.max(1, most) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, power * ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10));
  return Array.from({ length: Math.ceil(Math.max(1, most) / step) + 1 }, (_, place) => place * step);
}

const UNITS = /** @type {[number, string][]} */ ([[1e9, "G"], [1e6, "M"], [1e3, "k"]]);
const short = (number) => {
  const [size, unit] = UNITS.find(([size]) => number >= 10 * size) ?? [1, ""];
  return `${Number((number / size).toFixed(1)).toLocaleString()}${unit}`;
};

/** As much of a name or sentence as there is room for in a chart; a title has all of it. */
export const brief = (text) => (text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text);

/** The hour and minute of a moment where the browser is. */
export const clock = (moment) => new Date(moment).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** The same, with its day where that is not today's. */
export function dated(moment, now) {
  const [day, today] = [new Date(moment), new Date(now)];
  const year = day.getFullYear() === today.getFullYear() ? undefined : "numeric";
  return day.toDateString() === today.toDateString() ? clock(moment) : `${day.toLocaleDateString([], { day: "numeric", month: "short", year })} ${clock(moment)}`;
}

/** A moment as the clock shows it; where `now` is told and on another day, with its day. */
export const Clock = ({ at, now = at }) => h("time", { dateTime: at, title: at }, dated(at, now));

/** One of a few: `options` are [word, value]. */
export const Choice = ({ label, options, chosen, choose }) => h(HStack, { role: "group", "aria-label": label, gap: 1 }, options.map(([word, value]) =>
  h(Button, { key: word, size: "2xs", variant: value === chosen ? "solid" : "outline", "aria-pressed": value === chosen, onClick: () => choose(value) }, word)));

/** How wide the place is, in pixels, again whenever that changes. */
export function useWidth() {
  const place = useRef(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([{ contentRect }]) => setWidth(Math.round(contentRect.width)));
    watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  return { place, width };
}

/**
 * Draws `buckets` ([{ at, values, known }], `seconds` long each) of `series` ([{ key, of, label }]), with a `line`
 * ({ label, values }) against an axis of its own and `marks` ([{ at, text }]). What is not known is hatched, never zero.
 */
export function Bars({ buckets, series, seconds, label, unit, line = /** @type {any} */ (null), marks = /** @type {any[]} */ ([]), height = 190 }) {
  const { place, width } = useWidth();
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const last = buckets.length - 1;
  const shown = at === null ? null : Math.min(at, last);
  const area = { left: LEFT, width: Math.max(1, width - LEFT - (line ? RIGHT : MARGIN)), top: TOP, tall: height - TOP - FOOT };
  const step = area.width / buckets.length;
  const move = (event) => setAt(inside(Math.floor((event.nativeEvent.offsetX - LEFT) / step), last));
  const press = (event) => {
    if (event.key === "Escape") setAt(null);
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    setAt(inside((shown ?? last + 1) + KEYS[event.key], last));
  };
  const drawn = width > 0 && h(Drawing, { buckets, series, seconds, line, marks, area, step, height, shown });
  return h(Box, { as: "figure", m: 0 },
    h(Box, { ref: place, height: `${height}px` }, h(Box, { as: "svg", width: "100%", height: `${height}px`, role: "img", tabIndex: 0, "aria-label": `${label}. Left and right arrows go through it.`,
      color: "fg.muted", onPointerMove: move, onPointerLeave: () => setAt(null), onBlur: () => setAt(null), onKeyDown: press }, h("title", null, label), drawn)),
    h(Legend, { buckets, series, seconds, line, unit, shown }));
}

const inside = (place, last) => Math.max(0, Math.min(last, place));

/** What the numbers are: of all, or of what is under the cursor. */
function Legend({ buckets, series, seconds, line, unit, shown }) {
  const some = shown === null ? buckets : [buckets[shown]];
  const sum = (key) => some.reduce((all, { values }) => all + (values[key] ?? 0), 0).toLocaleString();
  const until = Date.parse(some.at(-1).at) + 1000 * seconds;
  const known = some.some((one) => one.known);
  return h(HStack, { as: "figcaption", wrap: "wrap", columnGap: 4, rowGap: 0, fontSize: "sm", fontVariantNumeric: "tabular-nums", "aria-live": "polite" },
    h(Text, { as: "span", fontWeight: "medium" }, `${clock(some[0].at)}–${clock(until)}`),
    known ? series.map(({ key, of, label }) => h(HStack, { as: "span", key, gap: 1 }, h(Box, { as: "i", width: "10px", height: "10px", borderRadius: "2px", bg: colourOf(of), "aria-hidden": true }), `${sum(key)} ${label}`))
      : h("span", null, "not counted"),
    line && h(HStack, { as: "span", gap: 1 }, h(Box, { as: "i", width: "12px", height: "2px", bg: "fg", "aria-hidden": true }), `${(shown === null ? line.values.findLast((value) => value !== null) : line.values[shown])?.toLocaleString() ?? "–"} ${line.label}`),
    h(Text, { as: "span", color: "fg.muted" }, unit));
}

function Drawing({ buckets, series, seconds, line, marks, area, step, height, shown }) {
  const most = Math.max(1, ...buckets.map(({ values }) => series.reduce((sum, { key }) => sum + (values[key] ?? 0), 0)));
  const ticks = steps(most);
  const x = (place) => area.left + place * step;
  const on = (high) => (value) => area.top + area.tall * (1 - value / high);
  const y = on(ticks.at(-1));
  return [h(Axis, { key: "axis", ticks, y, area }), h(Times, { key: "times", buckets, x, step, height }), h(Unknown, { key: "unknown", buckets, x, step, area }),
    ...series.map((one, number) => h(Series, { key: one.key, of: one.of, name: one.key, before: series.slice(0, number), buckets, x, y, step })),
    line && h(Line, { key: "line", line, x, on, step, area }),
    h(Marks, { key: "marks", marks, buckets, seconds, x, height }),
    shown !== null && h("line", { key: "cursor", "data-cursor": shown, x1: x(shown) + step / 2, x2: x(shown) + step / 2, y1: area.top, y2: height - FOOT, stroke: "currentColor", strokeDasharray: "3 2" })];
}

const words = { fill: "currentColor", stroke: "none", style: { fontSize: "11px" } };

const Axis = ({ ticks, y, area }) => h("g", { "data-axis": "number" }, ticks.map((tick) => h("g", { key: tick },
  h("line", { x1: area.left, x2: area.left + area.width, y1: y(tick), y2: y(tick), stroke: "currentColor", strokeOpacity: tick ? 0.2 : 0.8 }),
  h("text", { ...words, x: area.left - 6, y: y(tick) + 4, textAnchor: "end" }, short(tick)))));

/** The hours that have room. */
function Times({ buckets, x, step, height }) {
  const apart = [15, 30, 60, 120, 180, 360].find((minutes) => (minutes / 5) * step >= 60) ?? 720;
  const told = buckets.map(({ at }, place) => [place, at, new Date(at)]).filter(([, , when]) => (when.getHours() * 60 + when.getMinutes()) % apart === 0);
  return h("g", { "data-axis": "time" }, told.map(([place, at]) => h("text", { ...words, key: at, x: x(place), y: height - 6, textAnchor: "middle" }, clock(at))));
}

/** What nobody has counted, as upright hatching. */
function Unknown({ buckets, x, step, area }) {
  const found = buckets.map(({ known }, place) => (known ? -1 : place)).filter((place) => place >= 0);
  return h("g", { "data-unknown": found.length, stroke: "currentColor", strokeOpacity: 0.25 }, found.map((place) => h("line", { key: place, x1: x(place) + step / 2, x2: x(place) + step / 2, y1: area.top, y2: area.top + area.tall, strokeDasharray: "2 4" })));
}

/** The bars of one series, on those of the series before. */
function Series({ of, name, before, buckets, x, y, step }) {
  return h(Box, { as: "g", color: colourOf(of), "data-series": name }, buckets.map(({ at, values }, place) => {
    const value = values[name] ?? 0;
    if (!value) return null;
    const base = before.reduce((sum, { key }) => sum + (values[key] ?? 0), 0);
    const tall = Math.max(THIN, y(base) - y(base + value));
    return h("rect", { key: at, fill: "currentColor", x: x(place) + (step > 4 ? 1 : 0), width: Math.max(1, step - (step > 4 ? 2 : 0.5)), y: y(base) - tall, height: tall });
  }));
}

function Line({ line, x, on, step, area }) {
  const ticks = steps(Math.max(...line.values.filter((value) => value !== null)));
  const y = on(ticks.at(-1));
  const drawn = line.values.map((value, place) => value !== null && `${(x(place) + step / 2).toFixed(1)},${y(value).toFixed(1)}`).filter(Boolean);
  return h(Box, { as: "g", color: "fg", "data-line": line.label }, h("polyline", { points: drawn.join(" "), fill: "none", stroke: "currentColor", strokeWidth: 1.5 }),
    ticks.map((tick) => h("text", { ...words, key: tick, x: area.left + area.width + 6, y: y(tick) + 4 }, short(tick))));
}

/** What people did, as upright lines; the last that has room is named. */
function Marks({ marks, buckets, seconds, x, height }) {
  const first = Date.parse(buckets[0].at);
  const placed = marks.map((one) => ({ ...one, place: (Date.parse(one.at) - first) / (1000 * seconds) })).filter(({ place }) => place >= 0 && place <= buckets.length);
  return h(Box, { as: "g", color: "fg.info", "data-marks": placed.length }, placed.map(({ at, text, place }, number) => h("g", { key: `${at} ${number}` }, h("title", null, visible(text)),
    h("line", { x1: x(place), x2: x(place), y1: 14, y2: height - FOOT, stroke: "currentColor", strokeWidth: 1.5 }),
    (number === 0 || Math.abs(x(place) - x(placed[number - 1].place)) > 140) && h("text", { ...words, x: x(place), y: 11, textAnchor: place > buckets.length / 2 ? "end" : "start" }, brief(visible(text))))));
}
