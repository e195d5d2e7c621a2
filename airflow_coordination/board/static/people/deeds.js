// What people did: who, what, to how much of which source, why, and what became of it; filters, and a lane for each person.

import { useLive } from "../api.js";
import { Command, Empty, Key, Problem, Read, To, When, at, h, visible } from "../parts.js";
import { Glyph } from "../states.js";
import { Lanes } from "../charts/lanes.js";
import { clock } from "../charts/bars.js";
import { Filters, sinceOf } from "./filters.js";
import { ADuty, Settings, markOf } from "./settings.js";

const { useMemo, useRef } = globalThis.React;
const { Box, HStack, Stack, Text } = globalThis.ChakraUI;

export const DEEDS = 30_000; // milliseconds between two looks at what people did
const SETTINGS = 4 * DEEDS; // and at what was set, which takes more reading and changes less often
const TOLD = 50; // of them on their own page, each with what became of it
const SHOWN = 5; // of them on a page that is about something else
const HOUR = 3_600_000; // milliseconds: lanes are as long at least
const DAY = 24 * HOUR; // and so far back they show settings where nobody has done anything
const NIGHT = 6; // until this hour it is tonight
const NOTHING = { people: [], actions: [], of: [] };

/** The shape beside an action: that of what it leads to. */
const GLYPHS = Object.assign(Object.create(null), { pause: "paused", resume: "held", release: "expired", reopen: "claimable", reset: "claimable", park: "parked", finish: "completed" });
const glyphOf = (action) => GLYPHS[action] ?? "person";

/** Of a source, or of all sources of a store that one sees. */
export function Deeds({ place, go }) {
  const { store, source, by, action, reach, has, within, after, document, before } = place;
  const since = useMemo(() => sinceOf(within), [within]);
  const here = { store, source, view: "audit" };
  const narrowed = { by, action, reach, has, within };
  const asked = { store, source, by, action, reach, has, since, after, limit: TOLD, became: true };
  const live = useLive("audit", asked, () => DEEDS);
  const known = useRef(NOTHING); // while the next one is read, so that what has the focus stays
  if (live.data) known.current = live.data;
  return h(Stack, { gap: 3 }, h(Filters, { page: known.current, here, narrowed, search: (some) => go(at({ ...here, ...some })) }), h(Read, live, (page, { now }) => h(!action && (!reach || reach === "source") && !after ? WithSettings : Lines, { page, here, narrowed, after, since, of: { document, before }, now })));
}

/** The same with what was set, which is asked for beside it. */
function WithSettings({ of, ...all }) {
  const { here: { store, source }, narrowed: { by, has }, since } = all;
  const live = useLive("documents", { store, source, ...(of.document ? of : { by, has, since }) }, () => SETTINGS);
  return h(Lines, { ...all, changes: live.data?.changes ?? [] }, live.error && h(Problem, { login: live.error.login }, live.error.message),
    live.data && h(Settings, { page: live.data, here: all.here, narrowed: all.narrowed, now: live.now ?? all.now }));
}

/** Who did what when, in lanes and in lines, and where that ends. */
function Lines({ page, here, narrowed, after, now, changes = /** @type {any[]} */ ([]), children = undefined }) {
  const { store, source } = here;
  const isNarrowed = Object.values(narrowed).some(Boolean);
  const servesAll = source && page.typed === null; // nobody acts on it: it has settings only
  const oldest = Math.min(Date.parse(now) - (page.deeds.length ? HOUR : DAY), ...page.deeds.map((one) => Date.parse(one.at)));
  const late = changes.filter((one) => Date.parse(one.at) >= oldest); // a setting of last year would press all else into one place
  const marks = [...page.deeds.map((one) => ({ at: one.at, by: one.by, of: glyphOf(one.action), text: `${one.by}: ${one.action} ${reachOf(one)}` })), ...late.map(markOf)]
    .sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
  return h(Stack, { gap: 3 },
    marks.length > 0 && h(Lanes, { deeds: marks, now }),
    page.deeds.length > 0 ? h(Done, { deeds: page.deeds, store, source, now, narrowed }) : !servesAll && h(Empty, null, nothing(isNarrowed, page.after || after)),
    h(HStack, null, after && h(To, { to: at({ ...here, ...narrowed }) }, "Newest"), page.after && h(To, { to: at({ ...here, ...narrowed, after: page.after }) }, "Before that")),
    !servesAll && h(Text, { color: "fg.muted", fontSize: "sm" }, "What somebody did at once, for one reason, is one line. ", source ? `${page.lines.toLocaleString()} lines of the audit were read for this page.`
      : `Of the newest ${page.lines} lines of each of ${page.all_sources ? "all" : "the first"} ${page.sources} sources.`),
    !source && !page.after && h(Ends, { page, here, narrowed }),
    page.typed && h(Command, { label: "The same as a command:", text: page.typed }), children);
}

/** Where what is told of all sources ends, and the way on: the page of one of them goes further back. */
function Ends({ page: { ends, sources, all_sources: all }, here, narrowed }) {
  if (!ends.length) return h(Text, { fontSize: "sm" }, all ? "It ends here: nothing older is kept." : `It ends here: nothing older is kept of these ${sources} sources.`);
  return h(Box, { role: "note", "aria-label": "Where it ends", fontSize: "sm", borderWidth: 1, borderRadius: "md", px: 3, py: 2 },
    h(Text, { fontWeight: "semibold" }, `It ends here. Of all these sources it is complete since ${new Date(ends[0].at).toLocaleString()}; of ${ends.length === 1 ? "one" : ends.length} there is more from before:`),
    h(Box, { as: "ul", listStyle: "none", display: "flex", flexWrap: "wrap", gap: 3 }, ends.map(({ source, name, at: moment }) => h("li", { key: source }, h(To, { to: at({ ...here, ...narrowed, source }) }, visible(name)), ` before ${new Date(moment).toLocaleString()}`))),
    !all && h(Text, null, "In other sources was not looked; the first page leads to each."));
}

function nothing(isNarrowed, more) {
  if (more) return "None of it in these lines of the audit.";
  return isNarrowed ? "Nothing of it matches. Choose less, or everything." : "Nobody has done anything here yet that the audit knows of.";
}

const reachOf = ({ number, keys, name }) => (number === 0 ? name : number === 1 ? keys[0] : `${number.toLocaleString()} partitions of ${name}`);

/** Lines that stand together: those of one day where the browser is, the newest first. */
function days(deeds) {
  const found = /** @type {any[]} */ ([]);
  for (const one of deeds) {
    const day = new Date(one.at).toDateString();
    const last = found.at(-1);
    if (last?.day === day) last.deeds.push(one);
    else found.push({ day, deeds: [one] });
  }
  return found;
}

/** What a day is called: today, or tonight while it is night. */
function called(day, now) {
  const then = new Date(now);
  const date = new Date(day).toLocaleDateString([], { day: "numeric", month: "long", ...(new Date(day).getFullYear() === then.getFullYear() ? {} : { year: "numeric" }) });
  if (day !== then.toDateString()) return date;
  return `${then.getHours() < NIGHT ? "Tonight" : "Today"}, ${date}`;
}

/** How much was done there, by how many, to how many partitions. */
function summed(deeds) {
  const people = new Set(deeds.filter(({ duty }) => !duty).map(({ by }) => by)).size;
  const duties = new Set(deeds.filter(({ duty }) => duty).map(({ by }) => by)).size;
  const who = [people ? (people === 1 ? "one" : `${people}`) : "", duties ? (duties === 1 ? "a duty" : `${duties} duties`) : ""].filter(Boolean).join(" and ");
  const partitions = deeds.reduce((sum, { number }) => sum + number, 0);
  return `${deeds.length} by ${who}${partitions ? `, ${partitions.toLocaleString()} ${partitions === 1 ? "partition" : "partitions"}` : ""}`;
}

const HEADS = ["When", "Who", "What", "Of", "Why", "What became of it"];

function Done({ deeds, store, source, now, narrowed }) {
  return h(Box, { overflowX: "auto", role: "region", "aria-label": "What people did, in lines", tabIndex: 0, borderWidth: 1, borderRadius: "md" },
    h(Box, { as: "table", width: "100%", fontSize: "13px", borderCollapse: "collapse", css: { "& th, & td": { padding: "6px 12px", textAlign: "left", verticalAlign: "top" } } },
      h("thead", null, h(Box, { as: "tr", color: "fg.muted", fontSize: "12px" }, HEADS.map((head) => h("th", { key: head, scope: "col" }, head)))),
      days(deeds).map((one) => h("tbody", { key: one.day },
        h(Box, { as: "tr", bg: "bg.subtle" }, h("th", { colSpan: HEADS.length, scope: "rowgroup" }, called(one.day, now), h(Text, { as: "span", color: "fg.muted", fontWeight: "normal" }, ` · ${summed(one.deeds)}`))),
        one.deeds.map((deed, place) => h(Line, { key: `${place} ${deed.at} ${deed.source}`, deed, store, source, now, narrowed }))))));
}

const Line = ({ deed, store, source, now, narrowed }) => h(Box, { as: "tr", borderTopWidth: 1 },
  h(Box, { as: "td", whiteSpace: "nowrap" }, clock(deed.at), h(Text, { color: "fg.muted", fontSize: "xs" }, h(When, { at: deed.at, now }))),
  h("td", null, h(Text, { as: "span", fontWeight: "semibold" }, h(To, { to: at({ store, source, view: "audit", ...narrowed, by: deed.by }) }, visible(deed.by))), h(ADuty, deed)),
  h("td", null, h(HStack, { gap: "6px" }, h(Glyph, { of: glyphOf(deed.action) }), h(Text, { as: "span", fontWeight: "semibold" }, visible(deed.action)))),
  h("td", null, h(Of, { deed, store, source })),
  h(Box, { as: "td", minWidth: "200px", wordBreak: "break-word" }, `“${visible(deed.why)}”`),
  h(Box, { as: "td", color: deed.became ? undefined : "fg.muted" }, deed.became ? visible(deed.became) : "not known"));

/** Of which source, and of how much of it: one partition by its key, of many the first. */
function Of({ deed: { keys, number, source: of, name }, store, source }) {
  const key = number > 0 && h(To, { to: at({ store, source: of, key: keys[0] }) }, h(Key, { text: keys[0] }));
  const what = number === 0 ? "the source" : number > 1 ? `${number.toLocaleString()} partitions` : null;
  return h(Stack, { gap: 0 }, h("div", null, !source && h(To, { to: at({ store, source: of }) }, visible(name)), what && h(Text, { as: "span", color: source ? undefined : "fg.muted" }, `${source ? "" : " · "}${what}${number > 1 ? ", such as" : ""}`)), key);
}

/** The newest of it, on a page that is about something else. */
export function LatelyDone({ store, source = undefined }) {
  const { data, now } = useLive("audit", { store, source, limit: SHOWN }, () => DEEDS);
  return h(Newest, { store, source, deeds: data?.deeds, now });
}

/** The same of what was read; where stores stand below each other, each tells whose it is. */
export const Newest = ({ store, source, deeds, now }) => h(Box, { as: "section", "aria-label": source ? "What people did" : `What people did in ${store}`, fontSize: "sm" },
  h(HStack, { justify: "space-between" }, h(Text, { as: "h2", fontWeight: "semibold" }, "What people did"), h(To, { to: at({ store, source, view: "audit" }) }, "All of it")),
  deeds && (deeds.length > 0 ? h(Briefly, { deeds: deeds.slice(0, SHOWN), store, source, now }) : h(Text, { color: "fg.muted" }, "nothing yet")));

/** The same in a line each: a table stands on the page that is about it. */
const Briefly = ({ deeds, store, source, now }) => h(Box, { as: "ul", listStyle: "none" }, deeds.map((one, place) => h(Box, { as: "li", key: `${place} ${one.at} ${one.source}`, wordBreak: "break-word" },
  h(When, { at: one.at, now }), ": ", h(To, { to: at({ store, source, view: "audit", by: one.by }) }, visible(one.by)), " ", h(What, { one, store }), !source && [" of ", h(To, { key: "of", to: at({ store, source: one.source }) }, visible(one.name))],
  h(Text, { as: "span", color: "fg.muted" }, ` “${visible(one.why)}”`))));

const What = ({ one: { action, keys, number, source }, store }) => h("span", null, `${visible(action)} `, number === 0 ? "the source"
  : number === 1 ? h(To, { to: at({ store, source, key: keys[0] }) }, h(Key, { text: keys[0] })) : [`${number.toLocaleString()} partitions, such as `, h(To, { key: "first", to: at({ store, source, key: keys[0] }) }, h(Key, { text: keys[0] }))]);
