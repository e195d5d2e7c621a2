// One partition: why first, what happened to it, what it has published. Where one is stands in the URL.

import { Actions } from "./actions.js";
import { useLive } from "./api.js";
import { InBranch } from "./branches.js";
import { Tenures } from "./charts/tenures.js";
import { Happened } from "./happened.js";
import { Command, Key, Read, Rows, To, When, ago, at, h, visible } from "./parts.js";
import { Records } from "./records/balance.js";
import { bytes } from "./sizes.js";
import { Glyph, Word, paletteOf } from "./states.js";

const { Box, Heading, HStack, Stack, Text } = globalThis.ChakraUI;

export function Partition({ place }) {
  const { store, source, key } = place;
  const here = { store, source };
  return h(Read, useLive("partition", { store, source, key }), (found, { now }) => h(
    Stack,
    { gap: 5 },
    h(HStack, { wrap: "wrap" }, h(Key, { text: key }), h(Word, { of: found.summary.word }), found.summary.since && found.summary.word !== "held" && h(Text, { as: "span", color: "fg.muted", fontSize: "sm" }, "for ", h(Lasting, { at: found.summary.since, now })),
      h(InBranch, { branch: found.summary.branch, here }), found.beside && h(Beside, { beside: found.beside, here })),
    h(Why, { found, place }),
    h(Section, { title: "What happened" }, h(Tenures, { events: found.events, summary: found.summary, now }), h(Happened, { events: found.events, now })),
    (found.parents?.length > 0 || found.children?.length > 0) && h(Family, { found, here }),
    found.heads.length > 0 && h(Section, { title: "Published" }, h(Published, { heads: found.heads, here, now })),
    found.accounting.length > 0 && h(Records, { lines: found.accounting, wrong: found.unbalanced }),
    h(Rows, { heads: ["Field", "Value"], rows: facts(found, now) }),
    found.payload && h(Section, { title: "Payload" }, h(Json, { text: found.payload })),
    found.progress && h(Section, { title: "Progress" }, h(Json, { text: found.progress })),
  ));
}

/** Among those that a person must look at, one after the other. */
const Beside = ({ beside: { previous, following, place, number, whole }, here }) => h(HStack, { as: "nav", "aria-label": "Parked ones", fontSize: "sm", gap: 3, ml: "auto" },
  previous && h(To, { to: at({ ...here, key: previous }) }, "Previous parked"), h(Text, { as: "span", color: "fg.muted" }, place ? `${place.toLocaleString()} of ${whole ? "" : "the first "}${number.toLocaleString()} parked` : `behind the first ${number.toLocaleString()} parked`),
  following && h(To, { to: at({ ...here, key: following }) }, "Next parked"));

const Lasting = ({ at: since, now }) => h("time", { dateTime: since, title: since }, ago(Math.max(0, (Date.parse(now) - Date.parse(since)) / 1000)));

/** Why it is not moving: what `airflow coordination explain` says, with the error itself and what can be done here. */
function Why({ found, place: { store, source, key } }) {
  const { sentence, next, command } = found.explanation;
  const { last_error, word } = found.summary;
  return h(Box, { as: "section", "aria-label": "Why it is not moving", borderWidth: 1, borderLeftWidth: 4, borderRadius: "md", p: 3, colorPalette: paletteOf(word), borderColor: "colorPalette.solid" },
    h(HStack, { align: "start", gap: 3 }, h(Box, { mt: "5px" }, h(Glyph, { of: word, size: 16 })), h(Stack, { gap: 2, flex: "1 1 auto", minWidth: 0 },
      h(Text, { fontSize: "lg", wordBreak: "break-word" }, visible(sentence)),
      next && h(Text, null, visible(next)),
      last_error && h(Section, { title: "Last error" }, h(Json, { text: last_error })),
      found.offers.length > 0 && h(Actions, { key, offers: found.offers, place: { store, source }, target: { keys: [key] } }),
      command && h(Command, { label: "Type:", text: command }),
      h(Command, { label: "This as a command:", text: found.typed }))));
}

/** What it comes after, and what comes after it: each is a link, with its state. */
const Family = ({ found: { parents, children, all_children }, here }) => h(Box, { as: "section", "aria-label": "Parents and children" }, h(Heading, { size: "sm", mb: 1 }, "Parents and children"),
  h(Rows, { heads: ["", "Key", "State", "Waits"], rows: [
    ...parents.map((one) => relative("parent", one, here, one.waits ? "this one waits for it" : "this one does not wait for it any more")),
    ...children.map((one) => relative("child", one, here, one.waits ? "waits for this one" : "does not wait for this one any more"))] }),
  !all_children && h(Text, { color: "fg.muted", fontSize: "sm" }, "and other children"));

const relative = (kind, { key, word }, here, waits) => [`${kind} ${key}`, kind, word ? h(To, { to: at({ ...here, key }) }, h(Key, { text: key })) : h(Key, { text: key }),
  word ? h(Word, { of: word }) : "is not there any more", waits];

/** What a partition has published: in no branch, and in any; why readers do not see it only where they do not. */
function Published({ heads, here, now }) {
  const aside = heads.some(({ unseen }) => unseen);
  return h(Rows, { heads: ["Dataset", "Blocks", "Rows", "Bytes", "When", "Records", ...(aside ? ["Not seen by readers"] : [])],
    rows: heads.map((one) => [`${one.branch?.number} ${one.dataset}`,
      h(Text, { as: "span" }, h(To, { to: at({ ...here, dataset: one.dataset }) }, visible(one.dataset)), one.branch && ",", h(InBranch, { branch: one.branch, here })),
      one.blocks.toLocaleString(), one.rows.toLocaleString(), h("span", { title: one.bytes.toLocaleString() }, bytes(one.bytes)), h(When, { at: one.published_at, now }), one.records ?? "", ...(aside ? [visible(one.unseen ?? "")] : [])]) });
}

function facts({ summary, ...found }, now) {
  const times = ["available_at", "reopen_at", "created_at", "updated_at"].map((name) => [name, found[name] && h(When, { at: found[name], now })]);
  const said = [["next", summary.next], ["next_at", summary.next_at && h(When, { at: summary.next_at, now })], ["owner", summary.owner && visible(summary.owner)],
    ["failures", summary.failures], ["lost_leases", summary.lost_leases], ["closed", summary.closed], ["priority", found.priority], ["fence", found.fence], ...times];
  return said.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [name, name.replaceAll("_", " "), value]);
}

const Section = ({ title, children }) => h(Box, null, h(Heading, { size: "sm", mb: 1 }, title), children);

const Json = ({ text }) => h(Box, { as: "pre", fontSize: "sm", whiteSpace: "pre-wrap", wordBreak: "break-all", bg: "bg.muted", p: 2, borderRadius: "sm", maxHeight: "20rem", overflow: "auto" }, text.split("\n").map(visible).join("\n"));
