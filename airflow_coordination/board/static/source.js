// One source at a glance: how fast and until when, its last day, who works, what failed, what one might set.

import { useLive } from "./api.js";
import { Clock, dated } from "./charts/bars.js";
import { Ended } from "./charts/ended.js";
import { KeyRanges } from "./map.js";
import { DEEDS, Newest } from "./people/deeds.js";
import { Pausing } from "./pausing.js";
import { Accounting } from "./records/accounting.js";
import { Glyph, Parts, WORDS, colourOf, paletteOf, whole } from "./states.js";
import { Command, Problem, To, When, Who, at, h, visible } from "./parts.js";

const { useEffect, useRef, useState } = globalThis.React;
const { Link: RouterLink } = globalThis.ReactRouterDOM;
const { Box, Button, HStack, Heading, SimpleGrid, Stack, Text } = globalThis.ChakraUI;

const PACE = 10_000; // milliseconds between two reads: each is up to 2,000 rows
const FIRST = 5; // of the errors: the others unfold
const MARKED = 50; // of what people did, the newest, as marks in the chart

/** Shows the detail as soon as somebody can see it: a page of sources asks for those on the screen only. */
export function Detail({ source, status, narrowed, brief }) {
  const place = useRef(null);
  const [seen, see] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => see(entries.some((entry) => entry.isIntersecting)));
    watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  return h(Box, { ref: place, minHeight: "5rem" }, seen && h(Read, { source, status, narrowed, brief }));
}

function Read({ source: { store, source }, status, narrowed, brief }) {
  const { data, error, now } = useLive("source", { store, source }, () => PACE);
  const here = { store, source };
  const counts = h(Counts, { counts: data?.in_words, status, to: (/** @type {any} */ some) => at({ ...here, ...narrowed, ...some }) });
  if (brief) return counts;
  return h(Stack, { gap: 3 }, error && h(Problem, { login: error.login }, error.message),
    data?.said && h(Trouble, data), counts, h(Night, { here, data, now }),
    data && h(KeyRanges, { here, first: narrowed?.from }),
    data && data.advice.length > 0 && h(Advice, data),
    data && data.left_to_do > 0 && h(LeftToDo, data),
    data && h(Accounting, { here }),
    data?.pausing && h(Pausing, { offer: data.pausing, here }));
}

/** What ended when, what failed, who works and how fast, side by side; then what people did meanwhile. */
function Night({ here, data, now }) {
  const { data: audit, now: then } = useLive("audit", { ...here, limit: MARKED }, () => DEEDS);
  return h(Stack, { gap: 3, fontSize: "sm" },
    h(Box, { display: "grid", gap: 3, gridTemplateColumns: { base: "minmax(0, 1fr)", lg: "minmax(0, 1.35fr) minmax(0, 1fr) minmax(0, 1fr)" } },
      h(Panel, null, h(Ended, { here, counts: data?.in_words, deeds: audit?.deeds })), data && h(Panel, null, h(Errors, { ...data, here, now })), data && h(Panel, null, h(Stack, { gap: 3 }, h(Owners, { ...data, here, now }), h(Pace, { ...data, now })))),
    h(Newest, { ...here, deeds: audit?.deeds, now: then }));
}

const Panel = ({ children }) => h(Box, { borderWidth: 1, borderRadius: "md", px: "14px", py: 2, minWidth: 0 }, children);

/** What is wrong with the source, before anything else. */
const Trouble = ({ trouble, said }) => h(HStack, { as: "section", "aria-label": "What is wrong", align: "start", gap: 3, borderWidth: 1, borderLeftWidth: 4, colorPalette: paletteOf(trouble),
  borderColor: "colorPalette.solid", borderRadius: "md", px: 3, py: 2 }, h(Box, { mt: "3px" }, h(Glyph, { of: trouble, size: 16 })), h(Text, { fontSize: "15px", wordBreak: "break-word" }, visible(said)));

/** Counts are filters: each leads to what it counts. */
function Counts({ counts, status, to }) {
  return h(Box, { as: "nav", "aria-label": "By state" }, counts && h(Box, { mb: 2 }, h(Parts, { counts, height: "12px" })),
    h(SimpleGrid, { columns: { base: 4, lg: 8 }, borderWidth: 1, borderRadius: "md", overflow: "hidden" }, ["all", ...WORDS].map((word) => {
      const some = word === "all" ? {} : { status: word };
      const number = counts && (word === "all" ? whole(counts) : counts[word]);
      const here = status === some.status;
      return h(Box, { key: word, asChild: true, px: 3, py: 2, minWidth: 0, color: "fg", _hover: { bg: "bg.subtle" }, ...(here ? { bg: "bg.muted", boxShadow: "inset 0 -3px currentColor" } : {}) },
        h(RouterLink, { to: to(some), "aria-current": here ? "true" : undefined },
          h(HStack, { gap: 1, color: "fg.muted", fontSize: "xs" }, word !== "all" && h(Glyph, { of: word }), word),
          h(Text, { fontSize: "lg", fontWeight: number ? "semibold" : "normal", fontVariantNumeric: "tabular-nums", lineHeight: 1.3 }, number === undefined ? "–" : number.toLocaleString())));
    })));
}

/** What drivers have not lived to do after their endings. */
const LeftToDo = ({ left_to_do, looked_at_all_left, finishing }) => h(Box, { as: "section", "aria-label": "Left to be done", fontSize: "sm" },
  h(Text, null, `${looked_at_all_left ? "" : "at least "}${left_to_do} ${left_to_do === 1 ? "ending has" : "endings have"} something left to be done at the source (then=).`),
  h(Command, { label: "The next run of the task that creates partitions does it, or:", text: finishing }));

const Part = ({ title, side = /** @type {any} */ (null), children }) => h(Box, { as: "section", "aria-label": title },
  h(HStack, { justify: "space-between", mb: 1 }, h(Heading, { size: "xs" }, title), side && h(Text, { color: "fg.muted", fontSize: "xs" }, side)), children);

function Pace({ since, whole, pace, spent, now }) {
  if (!since) return h(Part, { title: "Pace" }, "unknown: this store keeps no history");
  if (!pace) return h(Part, { title: "Pace" }, "is being counted …");
  return h(Part, { title: "Pace" },
    h(Text, null, visible(pace.sentence)),
    pace.seconds > 0 && h(Text, { color: "fg.muted" }, "done ", h(When, { at: later(now, pace.seconds), now }),
      pace.latest ? ["; at the latest ", h(When, { key: "latest", at: later(now, pace.latest), now })] : "; no latest time can be named"),
    spent && h(Text, { color: "fg.muted" }, whole ? "In the last 24 hours " : ["Since ", h(When, { key: "since", at: since, now }), " "], `${spent}.`));
}

const later = (now, seconds) => {
  const then = new Date(new Date(now).getTime() + 1000 * seconds);
  return Number.isNaN(then.getTime()) ? null : then.toISOString();
};

function Owners({ owners, more_owners: more, looked_at_all_owners: all, supplier, acquired_at, here, now }) {
  return h(Part, { title: "Who works" },
    owners.length === 0 && h(Text, null, "nobody"),
    owners.map(({ owner, task, held, expired }) => h(Box, { key: owner },
      held > expired && h(To, { to: at({ ...here, owner, status: "held" }) }, `${(held - expired).toLocaleString()} held`), held > expired && expired > 0 && ", ",
      expired > 0 && h(To, { to: at({ ...here, owner, status: "expired" }) }, `${expired.toLocaleString()} expired`), " by ", h(Who, { name: owner, task }))),
    (more > 0 || !all) && h(Text, { color: "fg.muted" }, h(To, { to: at({ ...here, view: "owners" }) }, others(more, all))),
    acquired_at && h(Text, { color: "fg.muted" }, "last acquired ", h(When, { at: acquired_at, now })),
    h(Text, { as: "div", color: "fg.muted" }, supplier ? (supplier.owner ? ["supplier at work: ", h(Who, { key: "who", name: supplier.owner, task: supplier.task })]
      : ["supplier last seen ", h(When, { key: "at", at: supplier.at, now })]) : "no supplier was seen"));
}

/** How many are left out; of what was not read, that there are more. */
const others = (more, all) => (more ? `and ${all ? "" : "at least "}${more.toLocaleString()} ${more === 1 ? "other" : "others"}` : "and others");

function Errors({ errors, more_errors: more, looked_at_all_parked: all, may_act: acts, here, now }) {
  const [open, setOpen] = useState(false);
  const rest = errors.slice(FIRST);
  const most = Math.max(1, ...errors.map(({ number }) => number));
  return h(Part, { title: "Parked, by error", side: errors.length > 0 && all && inAll(errors, more) },
    errors.length === 0 && h(Text, null, "none"),
    h(Stack, { as: "ul", listStyleType: "none", gap: 2 }, errors.slice(0, open ? errors.length : FIRST).map((one) => h(Failed, { key: one.alike, one, most, acts, here, now }))),
    rest.length > 0 && h(Button, { size: "2xs", variant: "outline", mt: 1, "aria-expanded": open, onClick: () => setOpen(!open) }, open ? "Fold the others" : others(rest.length + more, all)),
    (open || rest.length === 0) && more > 0 && h(Text, { color: "fg.muted" }, h(To, { to: at({ ...here, status: "parked" }) }, `${others(more, all)}: other errors`)),
    !all && h(Text, { color: "fg.muted" }, "of the first ones only: there are more"));
}

function inAll(errors, more) {
  const number = errors.length + more;
  const parked = errors.reduce((sum, one) => sum + one.number, 0);
  return `${number.toLocaleString()} ${number === 1 ? "error" : "errors"}${more ? "" : `, ${parked.toLocaleString()} ${parked === 1 ? "partition" : "partitions"}`}`;
}

/** One error: how many have it, since when the first and the last of them are parked, and what one may try. */
const Failed = ({ one: { error, alike, number, since, last }, most, acts, here, now }) => h(Box, { as: "li", display: "grid", gridTemplateColumns: "44px minmax(0, 1fr)", columnGap: 2, alignItems: "start" },
  h(Box, { textAlign: "right", fontSize: "md", fontWeight: "semibold", lineHeight: 1.3, fontVariantNumeric: "tabular-nums" }, h(To, { to: at({ ...here, status: "parked", alike }) }, number.toLocaleString())),
  h(Text, { lineClamp: 2, wordBreak: "break-word", title: visible(error) }, h(Kind, { error })),
  h(Box, { height: "6px", mt: "7px", borderRadius: "full", bg: "bg.muted", overflow: "hidden", "aria-hidden": true }, h(Box, { height: "100%", width: `${(100 * number) / most}%`, bg: colourOf("parked") })),
  h(HStack, { justify: "space-between", fontSize: "xs", lineHeight: "20px" },
    h(Text, { as: "span", color: "fg.muted" }, since && ["parked ", h(Clock, { key: "since", at: since, now }), dated(since, now) !== dated(last, now) && [" to ", h(Clock, { key: "last", at: last, now })]]),
    acts && h(To, { to: at({ ...here, status: "parked", alike, act: "reopen" }) }, "Reopen…")));

/** What stands before the colon says most. */
function Kind({ error }) {
  const [kind, ...rest] = error.split(": ");
  return rest.length ? [h(Text, { key: "kind", as: "b", fontWeight: "semibold" }, visible(kind), ":"), ` ${visible(rest.join(": "))}`] : visible(error);
}

const Advice = ({ advice }) => h(Box, { as: "details", fontSize: "sm" }, h("summary", null, `Advice (${advice.length})`),
  advice.map(({ kind, about, sentence }) => h(Text, { key: `${kind} ${about}` }, h(Text, { as: "b" }, kind === "tasks" || kind === "ownership timeout" ? `${kind}: ${visible(about)}. ` : `${kind}. `), visible(sentence))));
