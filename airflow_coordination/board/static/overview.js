// The first page: what only a person can move, then all sources, those with the worst trouble first.

import { useLive } from "./api.js";
import { Empty, Problem, Read, To, When, ago, at, h, visible } from "./parts.js";
import { Lately, Spark, sparks, useLately } from "./charts/lately.js";
import { LatelyDone } from "./people/deeds.js";
import { Glyph, Parts, WORDS, paletteOf, whole } from "./states.js";

const { useState } = globalThis.React;
const { Box, Button, HStack, Heading, Link, Stack, Text } = globalThis.ChakraUI;
const { Link: RouterLink } = globalThis.ReactRouterDOM;

const PACE = 10_000; // milliseconds between two reads: it counts every source
const COUNTING = 1000; // and while some have never been counted
const pace = ({ stores }) => (stores.some(({ sources }) => sources.some(({ numbers }) => !numbers)) ? COUNTING : PACE);
const COLUMNS = WORDS.filter((word) => word !== "completed");

export function Overview({ place: { dag } }) {
  const lately = useLately(dag);
  const ended = sparks(lately.data);
  return h(Read, useLive("sources", { dag }, pace), (page, { served }) => {
    const { stores, duties } = page;
    const shown = stores.filter(({ problem, sources }) => !dag || problem || sources.length);
    const sources = ordered(page);
    const named = stores.filter((store) => store.sources.length).length > 1;
    const work = sources.filter((one) => !isUpkeep(one));
    return h(Stack, { gap: 4 },
      shown.map(({ connection, problem }) => problem && h(Problem, { key: connection }, problem)),
      sources.length > 0 && h(Box, { display: "grid", gap: 4, alignItems: "start", gridTemplateColumns: { base: "minmax(0, 1fr)", xl: "minmax(0, 1.48fr) minmax(0, 1fr)" } }, h(Needs, { needs: page.needs ?? [], named }),
        h(Panel, { title: "Ended by 5 minutes" }, h(Lately, { ...lately, dag }))),
      work.length > 0 && h(Sources, { title: "Sources", sources: work, named, served, ended }),
      sources.some(isUpkeep) && h(Sources, { title: "Upkeep", about: "Work on what other sources have published, and what happens by itself.", sources: sources.filter(isUpkeep), named, served, ended }),
      sources.length === 0 && h(Empty, null, dag
        ? "This DAG has no source. A CreatePartitionsOperator registers its source for its DAG."
        : "There is no source that belongs to a DAG that you may read. A CreatePartitionsOperator registers its source for its DAG."),
      !dag && shown.filter(({ problem, sources: its }) => !problem && its.length).map(({ connection }) => h(Panel, { key: connection, title: named ? `Done by people in ${connection}` : "Done by people" }, h(Box, { px: "14px", pb: 2 }, h(LatelyDone, { store: connection })))),
      duties && !dag && h(Text, { fontSize: "sm" }, h(To, { to: at({ view: "duties" }) }, "DUTIES"), " What happens by itself in all sources, and its configuration."));
  });
}

/** Whether a source is work that nobody supplies: its name is one that users cannot give. */
export const isUpkeep = ({ name }) => name.startsWith("~");

/** All sources in the server's order; one of the version before has none. */
function ordered({ stores, order }) {
  const all = stores.flatMap(({ sources }) => sources);
  if (!order) return all;
  const places = new Map(order.map(([store, source], place) => [JSON.stringify([store, source]), place]));
  const placeOf = ({ store, source }) => places.get(JSON.stringify([store, source])) ?? all.length;
  return all.toSorted((one, other) => placeOf(one) - placeOf(other));
}

export const Panel = ({ title, side = undefined, children }) => h(Box, { as: "section", "aria-label": title, borderWidth: 1, borderRadius: "md", bg: "bg.panel", minWidth: 0 },
  h(HStack, { justify: "space-between", wrap: "wrap", px: "14px", py: 2 }, h(Heading, { as: "h2", size: "sm" }, title), side && h(Box, { color: "fg.muted", fontSize: "xs" }, side)), children);

function Needs({ needs, named }) {
  const title = needs.length === 0 ? "Nothing needs a person" : needs.length === 1 ? "1 thing needs a person" : `${needs.length} things need a person`;
  return h(Panel, { title }, needs.length === 0
    ? h(HStack, { px: "14px", pb: 2, color: "fg.success", fontSize: "sm" }, h(Glyph, { of: "completed" }), "Whatever is left goes on by itself.")
    : h(Box, { as: "ul", listStyle: "none" }, needs.map((need) => h(Need, { key: JSON.stringify([need.store, need.source, need.kind, need.owner]), need, named }))));
}

/** Where one goes from a need, and what the button there is called. */
const LEADS = Object.assign(Object.create(null), {
  parked: { act: "See errors", to: ({ store, source }) => at({ store, source, status: "parked" }) },
  silent: { act: "See owner", to: ({ store, source, key }) => at(key ? { store, source, key } : { store, source, view: "owners" }) },
  paused: { act: "See pause", to: ({ store, source }) => at({ store, source }) },
});

function Need({ need, named }) {
  const { kind, name, store, what, more, since, now } = need;
  const lead = LEADS[kind] ?? LEADS.paused;
  const said = kind === "parked" ? `${what} in ${name}` : kind === "paused" ? `${name} ${what}` : `${what} in ${name}`;
  return h(Box, { as: "li", borderTopWidth: 1, px: "14px", py: 2, display: "grid", gridTemplateColumns: "24px minmax(0, 1fr) auto", columnGap: "10px", alignItems: "center" },
    h(Box, { colorPalette: paletteOf(kind), bg: "colorPalette.subtle", borderRadius: "md", width: "26px", height: "26px", display: "grid", placeItems: "center" }, h(Glyph, { of: kind, size: 14 })),
    h(Box, { minWidth: 0 },
      h(Text, { fontWeight: "semibold", wordBreak: "break-word" }, visible(said), since && h("span", null, " for ", h(Long, { at: since, now })), named && h(Text, { as: "span", color: "fg.muted", fontWeight: "normal", fontSize: "xs" }, ` ${visible(store)}`)),
      h(Text, { color: "fg.muted", fontSize: "sm", wordBreak: "break-word" }, visible(more)),
      need.errors?.length > 0 && h(HStack, { wrap: "wrap", gap: 3, fontSize: "sm" }, need.errors.map(({ error, alike, number }) =>
        h(To, { key: alike, to: at({ store, source: need.source, status: "parked", alike, act: "reopen" }) }, `Try to reopen ${number.toLocaleString()} ${visible(error)}`)))),
    h(Button, { asChild: true, size: "xs", variant: "outline" }, h(RouterLink, { to: lead.to(need) }, lead.act)));
}

/** For how long it has been so; the moment is told by its title. */
const Long = ({ at: since, now }) => h("time", { dateTime: since, title: since }, ago(Math.max(0, (Date.parse(now) - Date.parse(since)) / 1000)));

const ORDERS = ["Trouble", "Name", "Left"];
const left = ({ numbers }) => (numbers?.in_words ? whole(numbers.in_words) - numbers.in_words.completed : 0);

function Sources({ title, about = undefined, sources, named, served, ended }) {
  const [order, choose] = useState("Trouble");
  const shown = order === "Name" ? sources.toSorted((one, other) => (one.name < other.name ? -1 : 1)) : order === "Left" ? sources.toSorted((one, other) => left(other) - left(one)) : sources;
  const side = about ?? (sources.length > 1 && h(HStack, { role: "group", "aria-label": "Order", gap: 1 }, "Order", ORDERS.map((one) =>
    h(Button, { key: one, size: "2xs", variant: one === order ? "solid" : "outline", colorPalette: "brand", "aria-pressed": one === order, onClick: () => choose(one) }, one))));
  return h(Panel, { title, side }, h(Box, { overflowX: "auto", role: "region", "aria-label": `${title}, in numbers`, tabIndex: 0 },
    h(Box, { as: "table", width: "100%", fontSize: "13px", borderCollapse: "collapse", css: { "& th, & td": { paddingInline: "7px" }, "& th:first-of-type, & td:first-of-type": { paddingInlineStart: "14px" } } },
      h("thead", null, h(Box, { as: "tr", color: "fg.muted", fontSize: "12px", css: { "& th": { fontWeight: 500, textAlign: "left", paddingBlock: "6px", whiteSpace: "nowrap" } } },
        h("th", { scope: "col" }, "Source"), h("th", { scope: "col" }, "Completed"),
        COLUMNS.map((word) => h("th", { key: word, scope: "col" }, h(HStack, { gap: 1, justify: "end" }, h(Glyph, { of: word }), word))),
        h("th", { scope: "col" }, "Last 2 h"), h("th", { scope: "col" }, "Done"), h("th", { scope: "col" }, "Who works"), h("th", { scope: "col" }, "Oldest waits"), h("th", { scope: "col" }, "Next due"))),
      h("tbody", null, sources.length > 1 && h(Sum, { sources, ended: sources.every(isUpkeep) ? null : ended }), shown.map((source) => h(Source, { key: placed(source), source, named, served, ended }))))));
}

const CELL = { height: "34px", borderTopWidth: 1, whiteSpace: "nowrap" };
const NUMBER = { ...CELL, as: "td", textAlign: "right", fontVariantNumeric: "tabular-nums" };

const placed = ({ store, source }) => JSON.stringify([store, source]);

function Sum({ sources, ended }) {
  const counts = Object.fromEntries(WORDS.map((word) => [word, sources.reduce((sum, { numbers }) => sum + (numbers?.in_words?.[word] ?? 0), 0)]));
  return h(Box, { as: "tr", bg: "bg.subtle", fontWeight: "semibold" }, h(Box, { as: "td", ...CELL }, `All ${sources.length}`), h(Share, { counts }),
    COLUMNS.map((word) => h(Box, { key: word, ...NUMBER }, counts[word].toLocaleString())), h(Box, { as: "td", ...CELL }, ended && h(Spark, { of: ended.get("") })), h(Box, { as: "td", ...CELL, colSpan: 4 }));
}

function Share({ counts }) {
  const all = whole(counts);
  const part = all ? `${Math.floor((100 * counts.completed) / all)} %` : "–";
  return h(Box, { as: "td", ...CELL, minWidth: "110px", width: "14%" }, h(HStack, { gap: 2 }, h(Box, { flex: "1 1 auto" }, h(Parts, { counts })),
    h(Text, { as: "span", fontSize: "xs", width: "40px", textAlign: "right", title: `${counts.completed.toLocaleString()} of ${all.toLocaleString()}` }, part)));
}

/** A source that is well is one line of 34 px; of one that is not, a second line says what is wrong. */
function Source({ source, named, served, ended }) {
  const { name, prefix, store, trouble, said, numbers } = source;
  const here = { store, source: source.source };
  const words = numbers?.in_words;
  const edge = trouble ? { boxShadow: "inset 3px 0 var(--edge)", css: { "--edge": `var(--chakra-colors-${paletteOf(trouble)}-solid)` } } : {};
  const where = [prefix && visible(prefix), named && visible(store)].filter(Boolean).join(" · ");
  const first = h(Box, { as: "tr", key: "numbers", _hover: { bg: "bg.subtle" } },
    h(Box, { as: "td", ...CELL, ...edge }, h(HStack, { gap: "6px" }, trouble && h(Glyph, { of: trouble }), h(Text, { as: "span", fontWeight: "semibold", fontSize: "14px" }, h(To, { to: at(here) }, visible(name))),
      where && h(Text, { as: "span", color: "fg.muted", fontSize: "xs" }, where))),
    words ? h(Share, { counts: words }) : h(Box, { as: "td", ...CELL, colSpan: 12, color: "fg.muted" }, "is being counted …"),
    words && COLUMNS.map((word) => h(Box, { key: word, ...NUMBER }, h(Count, { word, count: words[word], here }))),
    words && h(Box, { as: "td", ...CELL }, ended && h(Spark, { of: ended.get(placed(source)) })),
    words && h(Box, { as: "td", ...CELL }, ended && h(Done, { words, pause: numbers.pause, perMinute: ended.get(placed(source))?.perMinute })),
    words && h(Box, { as: "td", ...CELL }, working(source)),
    words && h(Box, { as: "td", ...CELL }, typeof numbers.oldest_claimable === "number" ? ago(numbers.oldest_claimable) : "–"),
    words && h(Box, { as: "td", ...CELL }, h(Due, { numbers, served })));
  return h(globalThis.React.Fragment, null, first, said && h(Box, { as: "tr", key: "said" },
    h(Box, { as: "td", colSpan: 13, ...edge, pb: 2, whiteSpace: "normal" }, h(Text, { pl: "18px", wordBreak: "break-word" }, visible(said)))));
}

/** A number is the way to what it counts; none is no number. */
function Count({ word, count, here }) {
  if (!count) return h(Text, { as: "span", color: "fg.muted", "aria-label": `0 ${word}`, role: "img" }, "–");
  const label = `${count.toLocaleString()} ${word}`;
  const stands = word === "parked" || word === "expired";
  return h(Link, { asChild: true, ...(stands ? { colorPalette: paletteOf(word), bg: "colorPalette.subtle", color: "colorPalette.fg", borderRadius: "full", px: 2 } : {}) },
    h(RouterLink, { to: at({ ...here, status: word }), "aria-label": label, title: label }, count.toLocaleString()));
}

/** When all is done that no person must move, at the pace of the last hour. */
function Done({ words, pause, perMinute }) {
  const open = whole(words) - words.completed - words.parked;
  const moving = open - words.blocked;
  if (open && pause) return "held back";
  if (!moving && words.parked) return "a person is needed";
  if (!open) return whole(words) ? "done" : "–";
  if (typeof perMinute !== "number") return h(Text, { as: "span", color: "fg.muted" }, "not known");
  return perMinute > 0 ? h("span", { title: `${open.toLocaleString()} left` }, `in ${ago((60 * open) / perMinute)}`) : "no end can be named";
}

const working = ({ owners, all_owners: all }) => (!owners ? "nobody" : `${all ? "" : "at least "}${owners.toLocaleString()} ${owners === 1 ? "owner" : "owners"}`);

const Due = ({ numbers: { next_due, now, counted_at }, served }) => h("span", null, next_due ? h(When, { at: next_due, now }) : "–",
  served - Date.parse(counted_at) > PACE && h(Text, { as: "span", color: "fg.muted" }, " · counted ", h(When, { at: counted_at, now: served })));
