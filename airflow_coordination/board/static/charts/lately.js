// What ended lately in all sources together, and in each of them as a small picture beside its numbers.

import { useLive } from "../api.js";
import { Problem, h } from "../parts.js";
import { colourOf } from "../states.js";
import { Bars, Choice, Clock } from "./bars.js";
import { SERIES } from "./ended.js";

const { useState } = globalThis.React;
const { Box, HStack, Text } = globalThis.ChakraUI;

const CALM = 30_000; // milliseconds between two looks
const BEHIND = 2_000; // and while some sources were not read yet
const DAY = 288; // of five minutes
const HOURS = /** @type {[string, number][]} */ ([["1 h", 12], ["3 h", 36], ["24 h", DAY]]);
const SPARK = 24; // of five minutes: two hours
const [WIDE, TALL] = [72, 18];
const LATE = 900_000; // milliseconds: if nothing was counted for so long, no duty counts

const pace = ({ behind }) => (behind ? BEHIND : CALM);
export const useLately = (dag) => useLive("ended/lately", { dag }, pace);

/** The sum of all sources; what is missing is said in its place. */
export function Lately({ data, error, served, dag }) {
  const [slots, want] = useState(36);
  const { kept, counted } = data ?? {};
  return h(Box, { px: "14px", pb: 2, fontSize: "sm", minHeight: "215px" },
    error && h(Problem, { login: error.login }, error.message),
    kept === false && h(Text, { color: "fg.muted" }, "unknown: no store keeps a history"),
    kept && counted === 0 && h(Text, { color: "fg.muted" }, "Nothing was counted yet: the duty countEnded does. The page of a source counts from the start of this server on."),
    counted > 0 && h(Box, { display: "flex", justifyContent: "end" }, h(Choice, { label: "How far back", options: HOURS, chosen: slots, choose: want })),
    counted > 0 && (slots === DAY ? h(Day, { dag }) : h(Counted, { data, served, slots })));
}

/** A day is read when somebody wants to see it. */
function Day({ dag }) {
  const { data, error, served } = useLive("ended/lately", { dag, day: true }, pace);
  return h(Box, { minHeight: "180px" }, error && h(Problem, { login: error.login }, error.message), data?.counted > 0 && h(Counted, { data, served, slots: DAY }));
}

/** The chart, and of what it is. */
const Counted = ({ data, served, slots }) => h(Box, null, h(Chart, { data, slots }),
  h(Text, { color: "fg.muted", fontSize: "xs" }, "Counted to ", h(Clock, { at: data.counted_to }), data.counted < data.of && `; ${data.counted.toLocaleString()} of ${data.of.toLocaleString()} sources`,
    served - Date.parse(data.counted_to) > LATE ? "; no duty counts any more: countEnded does" : !data.by_duty && "; some sources less far"));

function Chart({ data, slots }) {
  const step = 1000 * data.seconds;
  const found = new Map(data.slots.map((slot) => [Date.parse(slot.at), slot]));
  const first = Date.parse(data.start) + (data.number - slots) * step;
  const [since, to] = [Date.parse(data.since), Date.parse(data.counted_to)];
  const buckets = Array.from({ length: slots }, (_, place) => {
    const start = first + place * step;
    return { at: new Date(start).toISOString(), values: found.get(start) ?? {}, known: start >= since && start < to };
  });
  const sum = (key) => buckets.reduce((all, { values }) => all + (values[key] ?? 0), 0);
  const label = `Ended by 5 minutes in all sources: ${SERIES.map(({ key, label }) => `${sum(key).toLocaleString()} ${label}`).join(", ")}`;
  return h(Bars, { buckets, series: SERIES, seconds: data.seconds, label, unit: "tenures in 5 minutes", height: 140 });
}

/** What completed in the last two hours in each source, by store and source; of all of them under no name; `null` before it is known. */
export function sparks(data) {
  if (!data) return null;
  if (!data.start) return new Map();
  const each = data.sources.map(({ store, source, completed, others, per_minute: perMinute }) => [JSON.stringify([store, source]), { completed: completed.slice(-SPARK), others: others.slice(-SPARK), perMinute }]);
  const found = new Map(data.slots.map((slot) => [Date.parse(slot.at), slot]));
  const all = Array.from({ length: data.number }, (_, place) => found.get(Date.parse(data.start) + 1000 * data.seconds * place)).slice(-SPARK);
  return new Map([...each, ["", { completed: all.map((slot) => slot?.completed ?? 0), others: all.map((slot) => (slot ? slot.failed + slot.lost : 0)) }]]);
}

/** A bar for each five minutes; its words say what it shows, so nothing in it need be reached by keys. */
export function Spark({ of }) {
  if (!of) return h(Text, { as: "span", color: "fg.muted" }, "not counted");
  const { completed, others, perMinute } = of;
  const whole = completed.map((number, place) => number + others[place]);
  const most = Math.max(1, ...whole);
  const [done, not] = [completed, others].map((some) => some.reduce((sum, number) => sum + number, 0));
  const label = `${done.toLocaleString()} completed${not ? `, ${not.toLocaleString()} failed or lost` : ""} in the last 2 h`;
  const high = (number) => (number ? Math.max(1.5, (TALL * number) / most) : 0);
  const bars = (name, numbers, below) => h(Box, { as: "g", key: name, color: colourOf(name) }, numbers.map((number, place) => number > 0 && h("rect", { key: place, fill: "currentColor",
    x: place * (WIDE / SPARK), width: WIDE / SPARK - 0.5, height: high(number), y: TALL - high(number) - (below ? high(below[place]) : 0) })));
  return h(HStack, { gap: 2 }, h(Box, { as: "svg", role: "img", "aria-label": label, width: `${WIDE}px`, height: `${TALL}px`, viewBox: `0 0 ${WIDE} ${TALL}`, overflow: "visible", flex: "none", color: "fg.muted" }, h("title", null, label),
    h("line", { x1: 0, x2: WIDE, y1: TALL, y2: TALL, stroke: "currentColor", strokeWidth: 1 }), bars("completed", completed, null), bars("parked", others, completed)),
  h(Text, { as: "span", fontSize: "xs", fontVariantNumeric: "tabular-nums", ...(typeof perMinute === "number" ? { title: "completed a minute, in the last hour" } : { "aria-hidden": true }) }, typeof perMinute === "number" ? `${rate(perMinute)}/min` : done.toLocaleString()));
}

const rate = (number) => (number >= 10 || number === 0 ? Math.round(number) : Number(number.toPrecision(2))).toLocaleString();
