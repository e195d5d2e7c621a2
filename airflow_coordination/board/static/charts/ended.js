// What ended in each five minutes of a source, what was left meanwhile, and what people did then.

import { useLive } from "../api.js";
import { Command, Problem, When, h } from "../parts.js";
import { Bars, Choice, Clock } from "./bars.js";

const { useState } = globalThis.React;
const { Box, HStack, Text } = globalThis.ChakraUI;

const CALM = 30_000; // milliseconds between two looks
const BEHIND = 2_000; // and while more has ended than one look may count
const LATE = 120_000; // what is counted up to so long ago is as of now
const HOURS = /** @type {[string, number][]} */ ([["1 h", 12], ["3 h", 36], ["24 h", 288]]);
export const SERIES = [{ key: "completed", of: "completed", label: "completed" }, { key: "failed", of: "parked", label: "failed" }, { key: "lost", of: "expired", label: "lost" }];
/** What the bars may count: how tenures ended, or what they have published. */
const COUNTED = {
  tenures: { title: "Ended by 5 minutes", series: SERIES, unit: "tenures in 5 minutes" },
  rows: { title: "Rows published by 5 minutes", series: [{ key: "rows", of: "completed", label: "rows" }], unit: "published in 5 minutes" },
};
const LEFT = ["claimable", "held", "expired", "delayed", "blocked"]; // parked ones wait for a person

const behind = (found, now) => Date.parse(now) - Date.parse(found.counted_to) > LATE;

/** The region on a source's page: `counts` by state, `deeds` of people. */
export function Ended({ here, counts, deeds }) {
  const { data, error, now } = useLive("ended", here, (found) => (found.kept && found.counted_to && !found.by_duty && behind(found, new Date()) ? BEHIND : CALM));
  const [wanted, want] = useState(/** @type {number | null} */ (null));
  const [what, count] = useState(/** @type {keyof typeof COUNTED} */ ("tenures"));
  const slots = wanted ?? (data?.whole ? 288 : 36);
  return h(Box, { as: "section", "aria-label": "What ended", fontSize: "sm", minHeight: "240px" },
    h(HStack, { justify: "space-between", wrap: "wrap" }, h(Text, { as: "h2", fontWeight: "semibold" }, COUNTED[what].title),
      data?.kept && h(HStack, { gap: 4 }, h(Choice, { label: "What is counted", options: [["Partitions", "tenures"], ["Rows", "rows"]], chosen: what, choose: count }),
        h(Choice, { label: "How far back", options: HOURS, chosen: slots, choose: want }))),
    error && h(Problem, { login: error.login }, error.message),
    data && !data.kept && h(Text, { color: "fg.muted" }, "unknown: this store keeps no history"),
    data?.kept && h(Chart, { data, slots, counted: COUNTED[what], left: what === "tenures" && counts, deeds, now }),
    data?.kept && h(Told, { data, now }),
    data && h(Command, { label: "The same as a command:", text: data.typed }));
}

/** From when to when it is counted, and by whom, where that is not what one expects. */
function Told({ data, now }) {
  const { whole, since, by_duty, counted_to } = data;
  return h(Text, { color: "fg.muted", fontSize: "xs" },
    !whole && ["Since ", h(Clock, { key: "since", at: since }), by_duty ? ": nobody had counted before. " : ": this server has counted since it started. "],
    "Counted to ", h(Clock, { at: counted_to }), behind(data, now) ? [" (", h(When, { key: "to", at: counted_to, now }), "). "] : ". ",
    !by_duty && "No duty counts here: countEnded does, and then a whole day is known.");
}

function Chart({ data, slots, counted: { title, series, unit }, left: counts, deeds, now }) {
  const step = 1000 * data.seconds;
  const found = new Map(data.slots.map((slot) => [Date.parse(slot.at), slot]));
  const first = Date.parse(data.start) + (288 - slots) * step;
  const [since, to] = [Date.parse(data.since), Date.parse(data.counted_to)];
  const buckets = Array.from({ length: slots }, (_, place) => {
    const start = first + place * step;
    return { at: new Date(start).toISOString(), values: found.get(start) ?? {}, known: start >= since && start < to };
  });
  const sum = (key) => buckets.reduce((all, { values }) => all + (values[key] ?? 0), 0);
  const label = `${title}: ${series.map(({ key, label }) => `${sum(key).toLocaleString()} ${label}`).join(", ")}`;
  return h(Bars, { buckets, series, seconds: data.seconds, label, unit: `${unit}; ${Intl.DateTimeFormat().resolvedOptions().timeZone}`, line: left(buckets, counts), marks: marks(deeds, first, now) });
}

/** What was left at the end of each five minutes: what is left now, and what was completed since. */
function left(buckets, counts) {
  if (!counts) return null;
  let here = LEFT.reduce((sum, word) => sum + (counts[word] ?? 0), 0);
  const values = buckets.toReversed().map(({ values, known }) => {
    const then = here;
    here += values.completed ?? 0;
    return known ? then : null;
  }).toReversed();
  return values.some((value) => value !== null) ? { label: "left", values } : null;
}

/** What was done to the whole source, or to many of its partitions at once. */
const marks = (deeds, first, now) => (deeds ?? []).filter(({ number, at }) => number !== 1 && Date.parse(at) >= first && Date.parse(at) <= Date.parse(now))
  .map(({ by, action, number, at }) => ({ at, text: `${by}: ${action}${number ? ` ${number.toLocaleString()}` : ""}` }));
