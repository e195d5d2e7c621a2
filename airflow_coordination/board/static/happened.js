// What happened to a partition, the newest first: tenures with their length as bars, equal failures as one.

import { Clock } from "./charts/bars.js";
import { Spark, When, Who, h, span, visible } from "./parts.js";
import { colourOf } from "./states.js";

const { useState } = globalThis.React;
const { Box, Button, HStack, Table, Text } = globalThis.ChakraUI;

const COLOURS = Object.assign(Object.create(null), { failed: "parked", completed: "completed", held: "held", lost: "expired" });

/** Seconds of a tenure; of one that runs, so far. */
const length = ({ at: until, since }, now) => (since ? (Date.parse(until ?? now) - Date.parse(since)) / 1000 : null);

/** Failures of one error that follow each other without anything between are one line; of the others each is one. */
export function folded(events) {
  const groups = [];
  for (const one of events) {
    const last = groups.at(-1);
    if (one.what === "failed" && last?.[0].what === "failed" && last[0].why === one.why) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

export function Happened({ events, now }) {
  const groups = folded(events).toReversed();
  const most = Math.max(0.001, ...events.map((one) => length(one, now) ?? 0));
  const some = (of) => events.some(of);
  const heads = ["When", "What", some(({ since }) => since) && "Took", some(({ who }) => who) && "Who", some(({ why }) => why) && "Why", some(({ rows }) => rows) && "Rows", some(({ records }) => records) && "Records", some(({ application, spark_url }) => application || spark_url) && "Spark"].filter(Boolean);
  return h(Box, { overflowX: "auto", role: "region", "aria-label": "What happened", tabIndex: 0 }, h(Table.Root, { size: "sm" },
    h(Table.Header, null, h(Table.Row, null, heads.map((head) => h(Table.ColumnHeader, { key: head }, head)))),
    h(Table.Body, null, groups.map((group, place) => h(Group, { key: groups.length - place, group, heads, most, now })))));
}

/** One thing that happened, or several equal failures, which open one by one. */
function Group({ group, heads, most, now }) {
  const [open, setOpen] = useState(false);
  if (group.length === 1) return h(Line, { one: group[0], heads, most, now });
  const last = group.at(-1);
  const took = group.map((one) => length(one, now)).filter((seconds) => seconds !== null);
  const label = `${open ? "Fold" : "Each of"} the ${group.length}`;
  const toggle = h(Button, { size: "2xs", variant: "outline", mt: 1, "aria-expanded": open, onClick: () => setOpen(!open) }, label);
  return h(globalThis.React.Fragment, null,
    h(Line, { one: last, heads, most, now, what: `${group.length} × failed`, first: group[0], range: took.length > 0 && [Math.min(...took), Math.max(...took)], toggle }),
    open && group.toReversed().map((one, place) => h(Line, { key: group.length - place, one, heads, most, now, inner: true })));
}

function Line({ one, heads, most, now, what = one.what, first = /** @type {any} */ (null), range = /** @type {any} */ (null), toggle = null, inner = false }) {
  const cells = Object.assign(Object.create(null), {
    When: () => h(Moment, { one, first, now }),
    What: () => h(Box, null, h(Text, { as: "span", fontWeight: "medium", whiteSpace: "nowrap" }, visible(what)), toggle && h(Box, null, toggle)),
    Took: () => h(Took, { one, range, most, now }),
    Who: () => h(Who, { name: one.who, task: one.task }),
    Why: () => h(Text, { lineClamp: 3, wordBreak: "break-word" }, visible(one.why ?? "")),
    Rows: () => one.rows ? one.rows.toLocaleString() : "",
    Records: () => one.records ?? "",
    Spark: () => h(Spark, one),
  });
  return h(Table.Row, inner ? { bg: "bg.subtle" } : null, heads.map((head) => h(Table.Cell, { key: head, verticalAlign: "top" }, cells[head]())));
}

/** When it was, by the clock and how far back; of several, from the first to the last. */
const Moment = ({ one, first, now }) => (one.at ? h(Box, { whiteSpace: "nowrap" }, first && [h(Clock, { key: "first", at: first.at, now }), " to "], h(Clock, { at: one.at, now: first?.at ?? now }),
  h(Text, { color: "fg.muted", fontSize: "xs" }, h(When, { at: one.at, now }))) : "now");

/** How long a tenure took, as a bar beside the longest of them. */
function Took({ one, range, most, now }) {
  const seconds = length(one, now);
  if (seconds === null) return "";
  const each = range && span(range[0]) !== span(range[1]) && `${span(range[0])} to ${span(range[1])} each`;
  return h(Box, { whiteSpace: "nowrap" }, h(HStack, { gap: 2 }, h(Box, { as: "span", "aria-hidden": true, width: "70px" }, h(Box, { as: "span", display: "block", height: "8px", borderRadius: "2px",
    bg: colourOf(COLOURS[one.what] ?? "claimable"), width: `${Math.max(4, (100 * seconds) / most)}%` })), one.at ? span(seconds) : `${span(seconds)} so far`),
  each && h(Text, { color: "fg.muted", fontSize: "xs" }, each));
}
