// Who holds what in a source, since when, and for how much longer.

import { useLive } from "./api.js";
import { InBranch } from "./branches.js";
import { Glyph } from "./states.js";
import { Command, Empty, Key, Read, Rows, Spark, To, When, Who, at, h, visible } from "./parts.js";

const { Box, HStack, Stack, Text } = globalThis.ChakraUI;

export function Owners({ place }) {
  const { store, source, after } = place;
  const here = { store, source };
  return h(Read, useLive("owners", { ...here, after }), ({ held, after: next }, { now }) => h(Stack, null,
    held.length
      ? h(Rows, { heads: ["Key", "Held by", "Since", "Last heard of", "Lease", "Spark"], rows: held.map((one) => row(one, now, here)) })
      : h(Empty, null, "Nobody holds a partition of this source."),
    h(HStack, null,
      after && h(To, { to: at({ ...here, view: "owners" }) }, "First page"),
      next && h(To, { to: at({ ...here, view: "owners", after: next }) }, "Next page"))));
}

const row = (one, now, here) => [
  one.key,
  h(Box, null, h(To, { to: at({ ...here, key: one.key }) }, h(Key, { text: one.key })), h(InBranch, { branch: one.branch, here })),
  h(Who, { name: one.owner, task: one.task }),
  one.since ? h(When, { at: one.since, now }) : one.wrote_at && h("span", null, "before ", h(When, { at: one.wrote_at, now })),
  one.silent ? h(HStack, { gap: 1, color: "fg.warning" }, h(Glyph, { of: "silent" }), h("span", null, "no sign since ", h(When, { at: one.sign_at, now })))
    : one.sign_at ? h(When, { at: one.sign_at, now }) : one.heard ? h(When, { at: one.wrote_at, now }) : "not yet",
  h(Lease, { ...one, now }),
  h(Spark, one),
];

const Lease = ({ expires_at, expired, late, now }) => (!expires_at ? "has no end"
  : h(Text, { as: "span", color: expired ? "fg.error" : late ? "fg.warning" : undefined }, expired ? "ended " : late ? "in grace until " : "ends ", h(When, { at: expires_at, now })));

export const DEEDS = 30_000; // milliseconds between two looks at what people did
const TOLD = 50; // of them on their own page, each with what became of it
const SHOWN = 5; // of them on a page that is about something else

/** What people did: of a source, or of all sources of a store that one sees; what was done to many at once is one line. */
export function Deeds({ place }) {
  const { store, source, by, after } = place;
  const here = { store, source, view: "audit" };
  return h(Read, useLive("audit", { store, source, by, after, limit: TOLD, became: true }, () => DEEDS), (page, { now }) => h(Stack, { gap: 2 },
    by && h(Text, { fontSize: "sm" }, "Only what ", visible(by), " did. ", h(To, { to: at(here) }, "Everybody")),
    page.deeds.length > 0 ? h(Done, { deeds: page.deeds, store, source, now }) : h(Empty, null, page.after || after ? "None of it in these lines of the audit." : "Nobody has done anything here yet that the audit knows of."),
    h(HStack, null, after && h(To, { to: at({ ...here, by }) }, "Newest"), page.after && h(To, { to: at({ ...here, by, after: page.after }) }, "Before that")),
    h(Text, { color: "fg.muted", fontSize: "sm" }, source ? `${page.lines.toLocaleString()} lines of the audit were read for this page.`
      : `Of the newest ${page.lines} lines of each of ${page.all_sources ? "all" : "the first"} ${page.sources} sources; the page of a source has more.`),
    page.typed && h(Command, { label: "The same as a command:", text: page.typed })));
}

/** The newest of it, on a page that is about something else. */
export function LatelyDone({ store, source = undefined }) {
  const { data, now } = useLive("audit", { store, source, limit: SHOWN }, () => DEEDS);
  return h(Newest, { store, source, deeds: data?.deeds, now });
}

/** The same of what was read; where stores stand below each other, each tells whose it is. */
export const Newest = ({ store, source, deeds, now }) => h(Box, { as: "section", "aria-label": source ? "What people did" : `What people did in ${store}`, fontSize: "sm" },
  h(HStack, { justify: "space-between" }, h(Text, { as: "h2", fontWeight: "semibold" }, "What people did"), h(To, { to: at({ store, source, view: "audit" }) }, "All of it")),
  deeds && (deeds.length > 0 ? h(Lines, { deeds: deeds.slice(0, SHOWN), store, source, now }) : h(Text, { color: "fg.muted" }, "nothing yet")));

/** The same in a line each: a table stands on the page that is about it. */
const Lines = ({ deeds, store, source, now }) => h(Box, { as: "ul", listStyle: "none" }, deeds.map((one, place) => h(Box, { as: "li", key: `${place} ${one.at} ${one.source}`, wordBreak: "break-word" },
  h(When, { at: one.at, now }), ": ", h(To, { to: at({ store, source, view: "audit", by: one.by }) }, visible(one.by)), " ", h(What, { one, store }), !source && [" of ", h(To, { key: "of", to: at({ store, source: one.source }) }, visible(one.name))],
  h(Text, { as: "span", color: "fg.muted" }, ` “${visible(one.why)}”`))));

/** Who, what, to how many of which source, why, and when. */
const Done = ({ deeds, store, source, now }) => h(Rows, { label: "What people did, in lines", heads: ["When", "Who", "What", ...(source ? [] : ["Source"]), "Why", "What became of it"],
  rows: deeds.map((one, place) => [`${place} ${one.at} ${one.source}`, h(When, { at: one.at, now }), h(To, { to: at({ store, source, view: "audit", by: one.by }) }, visible(one.by)), h(What, { one, store }),
    ...(source ? [] : [h(To, { to: at({ store, source: one.source }) }, visible(one.name))]), visible(one.why), h(Text, { as: "span", color: one.became ? undefined : "fg.muted" }, one.became ?? "not known")]) });

const What = ({ one: { action, keys, number, source }, store }) => h("span", null, `${visible(action)} `, number === 0 ? "the source"
  : number === 1 ? h(To, { to: at({ store, source, key: keys[0] }) }, h(Key, { text: keys[0] })) : [`${number.toLocaleString()} partitions, such as `, h(To, { key: "first", to: at({ store, source, key: keys[0] }) }, h(Key, { text: keys[0] }))]);
