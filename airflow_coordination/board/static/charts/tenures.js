// One line of time of a partition: its tenures as bars, what people did as marks; long times without anything are cut out.

import { h, span, visible } from "../parts.js";
import { Shape, colourOf } from "../states.js";
import { brief, dated, useWidth } from "./bars.js";

const { Box } = globalThis.ChakraUI;

const BAND = 32; // where the bars begin, below two lines of words
const TALL = 26;
const BASE = BAND + TALL;
const HEIGHT = BASE + 36;
const PAD = 14; // on both sides of what is shown whole
const CUT = 40; // pixels instead of what is left out
const NOW = 100; // of what it is now, at the right end
const MOST = 4; // cuts: so many that their words have room
const LARGE = 0.25; // of what is left in: a longer time without anything is left out
const THIN = 5; // pixels of a short tenure
const SIGN = 7; // pixels of a letter, about
const SECOND = 1000;
const STEPS = [60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000]; // seconds between two times that are named
const OF = Object.assign(Object.create(null), { failed: "parked", completed: "completed", held: "held", lost: "expired" });

/** `events` as the server tells them, oldest first; `summary` says what the partition is now. Without a tenure there is no line. */
export const Tenures = ({ events, summary, now }) => now && events.some(({ since }) => since) && h(Line, { all: events.map((one) => spread(one, leased(summary, Date.parse(now)))), summary, now });

/** Until when it was held, of one that is: what has expired is no more. */
const leased = ({ word, next_at: until }, now) => (word === "expired" && until ? Math.min(now, Date.parse(until)) : now);

function Line({ all, summary, now }) {
  const { place, width } = useWidth();
  return h(Box, { ref: place, height: `${HEIGHT}px` }, width > 0 && h(Box, { as: "svg", width: "100%", height: `${HEIGHT}px`, role: "img", "aria-label": told(all, summary, now), color: "fg.muted" },
    h(Drawing, { all, word: summary.word, now, width })));
}

/** From when to when something lasted; what people did, a moment. */
function spread(one, end) {
  const from = one.since ? Date.parse(one.since) : null;
  const to = one.at ? Date.parse(one.at) : Math.max(end, from ?? end);
  return { ...one, from: from ?? to, to, tenure: from !== null };
}

/** Returns what is shown whole, [from, to], with the longest times between left out. */
export function pieces(all, end) {
  const busy = [...all.map(({ from, to }) => [from, to]), [end, end]].toSorted(([one], [other]) => one - other);
  /** @type {number[][]} */
  const gaps = [];
  let until = busy[0][1];
  for (const [from, to] of busy) {
    if (from > until) gaps.push([until, from]);
    until = Math.max(until, to);
  }
  const cuts = [];
  let rest = until - busy[0][0];
  for (const [from, to] of gaps.toSorted((one, other) => other[1] - other[0] - one[1] + one[0]).slice(0, MOST)) {
    if (to - from <= LARGE * rest || to - from < SECOND) break;
    cuts.push([from, to]);
    rest -= to - from;
  }
  cuts.sort(([one], [other]) => one - other);
  const starts = [busy[0][0], ...cuts.map(([, to]) => to)];
  return starts.map((from, place) => [from, cuts[place]?.[0] ?? until]);
}

/** Places what is shown whole side by side, all on one scale, so that bars can be compared. */
function placed(all, end, width) {
  const found = pieces(all, end);
  const lasting = found.reduce((sum, [from, to]) => sum + to - from, 0);
  const room = Math.max(1, width - NOW - (found.length - 1) * CUT - found.length * 2 * PAD);
  const scale = lasting ? room / lasting : 0;
  let left = 0;
  const parts = found.map(([from, to], place) => {
    const part = { from, to, left, wide: (lasting ? (to - from) * scale : place === 0 ? room : 0) + 2 * PAD };
    left += part.wide + CUT;
    return part;
  });
  const x = (moment) => {
    const part = parts.find(({ to }) => moment <= to) ?? parts[parts.length - 1];
    return part.left + PAD + Math.max(0, moment - part.from) * scale;
  };
  return { parts, scale, x };
}

function Drawing({ all, word, now, width }) {
  const { parts, scale, x } = placed(all, Date.parse(now), width);
  const since = Math.max(...all.map(({ to }) => to));
  return [h(Ground, { key: "ground", parts }), h(Waits, { key: "waits", all, x }), h(Lasts, { key: "lasts", parts, since, x, word, width }),
    ...all.filter(({ tenure }) => tenure).map((one, number) => h(Tenure, { key: number, one, x })), h(Words, { key: "words", all, x, width }), h(Times, { key: "times", parts, scale, now, width })];
}

const small = { fill: "currentColor", stroke: "none", style: { fontSize: "11px" } };

/** The ground of what is shown whole, and what is left out between: how long that is, as far as there is room. */
function Ground({ parts }) {
  let free = 0;
  return parts.map(({ from, to, left, wide }, place) => {
    const text = place ? `${span((from - parts[place - 1].to) / SECOND)} left out` : "";
    const half = (SIGN * text.length) / 2;
    const at = Math.max(left - CUT / 2, half);
    const room = text && at - half >= free;
    if (room) free = at + half + 8;
    return h("g", { key: from }, (place === 0 || to > from) && h("rect", { x: left, width: wide, y: BAND, height: TALL, rx: 3, fill: "currentColor", fillOpacity: 0.09 }),
      text && h("g", { "data-cut": Math.round((from - parts[place - 1].to) / SECOND) }, h("title", null, text), h("path", { d: `M${left - CUT / 2 - 2} ${BAND - 4}q7 8.500 0 17t0 17`, fill: "none", stroke: "currentColor", strokeWidth: 1.3 }),
        room && h("text", { ...small, x: at, y: HEIGHT - 4, textAnchor: "middle" }, text)));
  });
}

/** From a failure to the next try. */
function Waits({ all, x }) {
  const found = all.flatMap((one, place) => (one.what === "failed" && all[place + 1]?.tenure && all[place + 1].from > one.to ? [[one.to, all[place + 1].from]] : []));
  return h(Box, { as: "g", color: colourOf("delayed") }, found.map(([from, to]) => h("g", { key: from, "data-wait": "" }, h("title", null, `${span((to - from) / SECOND)} until the next try`),
    h("line", { x1: x(from), x2: x(to), y1: BAND + TALL / 2, y2: BAND + TALL / 2, stroke: "currentColor", strokeWidth: 2, strokeDasharray: "3 3" }))));
}

/** What it is now, since when that has not changed. */
function Lasts({ parts, since, x, word, width }) {
  const shown = parts.filter(({ left, wide }) => left + wide > x(since)).map(({ left, wide }) => [Math.max(left, x(since)), left + wide]);
  const [from, middle] = [width - NOW, width - NOW / 2];
  return h(Box, { as: "g", color: colourOf(word), "data-now": word }, word !== "held" && shown.map(([left, right]) => h("rect", { key: left, x: left, width: Math.max(0, Math.min(right, from) - left), y: BAND + 4, height: TALL - 8, fill: "currentColor", fillOpacity: 0.3 })),
    h("rect", { x: from, width: NOW, y: BAND + 4, height: TALL - 8, fill: "currentColor", fillOpacity: 0.3 }),
    h("g", { transform: `translate(${middle - word.length * 3.5 - 12} ${BAND + TALL / 2 - 6})`, stroke: "currentColor" }, h(Shape, { of: word })),
    h(Box, { as: "g", color: "fg" }, h("text", { ...small, x: middle + 6, y: BAND + 17, textAnchor: "middle", style: { fontSize: "12px", fontWeight: 600 } }, word)));
}

const long = ({ from, to }) => span((to - from) / SECOND);

function Tenure({ one, x }) {
  const [left, right] = [x(one.from), Math.max(x(one.from) + THIN, x(one.to))];
  const room = right - left >= 14;
  return h(Box, { as: "g", color: colourOf(OF[one.what] ?? "claimable"), "data-tenure": one.what }, h("title", null, visible(`${one.what} ${one.at ? "after" : "for"} ${long(one)}: ${one.who ?? "unknown"}`)),
    h("rect", { x: left, width: right - left, y: BAND, height: TALL, rx: 2, fill: "currentColor" }), room && h(Sign, { what: one.what, at: (left + right) / 2 }));
}

/** A cross or a tick in the colour of the ground. */
const SIGNS = Object.assign(Object.create(null), { failed: "M-3.500-3.500l7 7m0-7l-7 7", completed: "M-5 0l3.500 4 6.500-8" });
const Sign = ({ what, at }) => SIGNS[what] && h(Box, { as: "g", color: "bg" }, h("path", { transform: `translate(${at} ${BAND + TALL / 2})`, d: SIGNS[what], fill: "none", stroke: "currentColor", strokeWidth: 2 }));

/** How long each took, and who did what: as far as there is room, the others by their titles. */
function Words({ all, x, width }) {
  let [above, below] = [0, 0];
  return all.map((one, number) => {
    const text = one.tenure ? long(one) : one.who ? `${one.what} by ${one.who}` : one.what;
    const middle = one.tenure ? Math.max(x(one.from) + THIN / 2, (x(one.from) + x(one.to)) / 2) : x(one.to);
    const said = brief(visible(text));
    const half = (SIGN * said.length) / 2;
    const at = Math.min(Math.max(middle, half), width - half);
    const room = at - half >= (one.tenure ? below : above);
    if (room && one.tenure) below = at + half + 4;
    if (room && !one.tenure) above = at + half + 4;
    const shown = room && h("text", { ...small, x: at, y: one.tenure ? 27 : 12, textAnchor: "middle" }, said);
    return h(Box, { as: "g", key: number, color: one.tenure ? "fg.muted" : "fg.info", "data-mark": one.tenure ? undefined : one.what }, !one.tenure && h("title", null, visible(text)),
      !one.tenure && h("path", { d: `M${middle} 15v4M${middle} ${BAND - 2}V${BASE + 4}`, fill: "none", stroke: "currentColor", strokeWidth: 1.5, strokeDasharray: "3 2" }), shown);
  });
}

/** When each part begins, and moments in it that have room; at the end, now. */
function Times({ parts, scale, now, width }) {
  const step = SECOND * (STEPS.find((each) => each * SECOND * scale >= 80) ?? STEPS[STEPS.length - 1]);
  let free = 0;
  const end = Date.parse(now);
  const shown = parts.filter(({ from }) => from < end).flatMap(({ from, to, left }) => [from, ...marks(from, to, step)].flatMap((moment, place) => {
    const text = dated(moment, place ? moment : now);
    const at = Math.max(left + PAD + (moment - from) * scale, (SIGN * text.length) / 2);
    if (at - (SIGN * text.length) / 2 < free || at + (SIGN * text.length) / 2 > width - 34) return [];
    free = at + (SIGN * text.length) / 2 + 8;
    return [h("g", { key: moment }, h("line", { x1: at, x2: at, y1: BASE, y2: BASE + 5, stroke: "currentColor" }), h("text", { ...small, x: at, y: BASE + 17, textAnchor: "middle" }, text))];
  }));
  return h("g", { "data-axis": "time" }, shown, h("text", { ...small, x: width, y: BASE + 17, textAnchor: "end" }, "now"));
}

/** Round moments in between, where the browser is. */
function marks(from, to, step) {
  const shift = new Date(from).getTimezoneOffset() * 60 * SECOND;
  const first = Math.floor((from - shift) / step) + 1;
  return Array.from({ length: Math.min(50, Math.max(0, Math.floor((to - shift) / step) - first + 1)) }, (_, place) => (first + place) * step + shift);
}

/** The same in words. */
function told(all, summary, now) {
  const said = all.map((one) => (one.tenure ? `${one.what} ${one.at ? "after" : "for"} ${long(one)}, from ${dated(one.from, now)}` : `${one.what}${one.who ? ` by ${one.who}` : ""} ${dated(one.to, now)}`));
  return visible(`${said.join("; ")}; now ${summary.word}`);
}
