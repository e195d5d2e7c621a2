// One source at a glance: how fast and until when, its last day, who works, what failed, what one might set.

import { useLive } from "./api.js";
import { Ended } from "./charts/ended.js";
import { KeyRanges } from "./map.js";
import { DEEDS, Newest } from "./people/deeds.js";
import { Pausing } from "./pausing.js";
import { Accounting } from "./records/accounting.js";
import { Glyph, Parts, WORDS, paletteOf, whole } from "./states.js";
import { Command, Problem, To, When, Who, at, h, visible } from "./parts.js";

const { useEffect, useRef, useState } = globalThis.React;
const { Link: RouterLink } = globalThis.ReactRouterDOM;
const { Box, HStack, Heading, SimpleGrid, Stack, Text } = globalThis.ChakraUI;

const PACE = 10_000; // milliseconds between two reads: each is up to 2,000 rows
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
    data?.said && h(Trouble, data), counts, h(Night, { here, counts: data?.in_words }),
    data && h(SimpleGrid, { columns: { base: 1, lg: 3 }, gap: 4, fontSize: "sm" },
      h(Pace, { ...data, now }), h(Owners, { ...data, here, now }), h(Errors, { ...data, here })),
    data && h(KeyRanges, { here, first: narrowed?.from }),
    data && data.advice.length > 0 && h(Advice, data),
    data && data.left_to_do > 0 && h(LeftToDo, data),
    data && h(Accounting, { here }),
    data?.pausing && h(Pausing, { offer: data.pausing, here }));
}

/** What ended when, and what people did meanwhile. */
function Night({ here, counts }) {
  const { data, now } = useLive("audit", { ...here, limit: MARKED }, () => DEEDS);
  return h(Stack, { gap: 3 }, h(Ended, { here, counts, deeds: data?.deeds }), h(Newest, { ...here, deeds: data?.deeds, now }));
}

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

const Part = ({ title, children }) => h(Box, { as: "section", "aria-label": title }, h(Heading, { size: "xs", mb: 1 }, title), children);

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

function Errors({ errors, more_errors: more, looked_at_all_parked: all, here }) {
  return h(Part, { title: "Parked, by error" },
    errors.length === 0 && h(Text, null, "none"),
    errors.map(({ error, alike, number }) => h(HStack, { key: error, align: "start" },
      h(To, { to: at({ ...here, status: "parked", alike }) }, number.toLocaleString()), h(Text, { lineClamp: 2, wordBreak: "break-word" }, visible(error)))),
    more > 0 && h(Text, { color: "fg.muted" }, h(To, { to: at({ ...here, status: "parked" }) }, `${others(more, all)}: other errors`)),
    !all && h(Text, { color: "fg.muted" }, "of the first ones only: there are more"));
}

const Advice = ({ advice }) => h(Box, { as: "details", fontSize: "sm" }, h("summary", null, `Advice (${advice.length})`),
  advice.map(({ kind, about, sentence }) => h(Text, { key: `${kind} ${about}` }, h(Text, { as: "b" }, kind === "tasks" || kind === "ownership timeout" ? `${kind}: ${visible(about)}. ` : `${kind}. `), visible(sentence))));
