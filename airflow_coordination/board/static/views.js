// The partitions of a source, and one partition. Where one is stands in the URL.

import { Actions } from "./actions.js";
import { useLive } from "./api.js";
import { InBranch } from "./branches.js";
import { Command, Empty, Key, Read, Rows, STATES, Spark, StateBadge, To, When, Who, at, h, visible } from "./parts.js";
import { Detail } from "./source.js";

const { useState } = globalThis.React;
const { Box, Button, Heading, HStack, Input, Stack, Text } = globalThis.ChakraUI;

export function Partitions({ place, go }) {
  const { store, source, status, prefix, owner, error, after } = place;
  const read = useLive("partitions", { store, source, status, prefix, owner, error, after });
  const here = { store, source };
  const narrowed = { prefix, owner, error };
  return h(
    Stack,
    { gap: 3 },
    !after && h(Detail, { source: here }),
    h(HStack, { wrap: "wrap" },
      h(Filter, { here: { ...here, ...narrowed }, chosen: status }),
      h(To, { to: at({ ...here, view: "owners" }) }, "OWNERS"),
      h(To, { to: at({ ...here, status, ...narrowed, view: "map" }) }, "MAP"),
      h(To, { to: at({ ...here, view: "datasets" }) }, "DATASETS"),
      h(To, { to: at({ ...here, view: "branches" }) }, "BRANCHES")),
    h(Search, { key: JSON.stringify(narrowed), narrowed, search: (texts) => go(at({ ...here, status, ...texts })) }),
    h(Read, read, ({ typed, partitions, offers, after: next }, { now }) => h(
      Stack,
      null,
      offers.length > 0 && h(Actions, { key: JSON.stringify([source, status, narrowed]), offers, place, target: { filter: filterOf(place) } }),
      partitions.length
        ? h(Rows, { heads: ["Key", "State", "Next", "", "Owner", "Failures", "Last error"], rows: partitions.map((one) => row(one, now, here)) })
        : h(Empty, null, nothing(next, status || prefix || owner || error)),
      h(HStack, null,
        after && h(To, { to: at({ ...here, status, ...narrowed }) }, "First page"),
        next && h(To, { to: at({ ...here, status, ...narrowed, after: next }) }, partitions.length ? "Next page" : "Look on")),
      h(Command, { label: "The same as a command:", text: typed }),
    )),
  );
}

function nothing(next, narrowed) {
  if (next) return "None of those that were looked at matches. There are more.";
  return narrowed ? "No partition matches. Choose another state, or clear the search." : "This source has no partitions. Run its supplier.";
}

const filterOf = ({ status, prefix, owner, error }) =>
  Object.fromEntries(Object.entries({ status, key_prefix: prefix, owner_like: owner, error_like: error }).filter(([, value]) => value));

function row(one, now, here) {
  const key = h(Box, { minWidth: "16ch" }, h(To, { to: at({ ...here, key: one.key }) }, h(Key, { text: one.key })));
  const error = h(Text, { lineClamp: 2, wordBreak: "break-word" }, visible(one.last_error ?? ""));
  return [one.key, key, h(Box, null, h(StateBadge, { state: one.status }), h(InBranch, { branch: one.branch, here })), one.next, h(When, { at: one.next_at, now }), visible(one.owner ?? ""), one.failures, error];
}

function Filter({ here, chosen }) {
  return [undefined, ...STATES].map((status) =>
    h(To, { key: status ?? "ALL", to: at({ ...here, status }) },
      h(Text, { as: "span", fontWeight: status === chosen ? "bold" : "normal", "aria-current": status === chosen }, status ?? "ALL")));
}

const SEARCHED = { prefix: "Key begins with", owner: "Owner has", error: "Last error has" };

function Search({ narrowed, search }) {
  const [texts, setTexts] = useState(narrowed);
  const submit = (event) => {
    event.preventDefault();
    search(texts);
  };
  return h("form", { onSubmit: submit, role: "search" }, h(HStack, { wrap: "wrap" },
    Object.entries(SEARCHED).map(([name, label]) => h(Input, { key: name, size: "sm", width: "14rem", value: texts[name] ?? "", placeholder: `${label}…`, "aria-label": label,
      maxLength: 2000, onChange: (event) => setTexts((last) => ({ ...last, [name]: event.target.value })) })),
    h(Button, { size: "sm", type: "submit", variant: "outline" }, "Search")));
}

export function Partition({ place }) {
  const { store, source, key } = place;
  return h(Read, useLive("partition", { store, source, key }), (found, { now }) => h(
    Stack,
    { gap: 5 },
    h(HStack, null, h(Key, { text: key }), h(StateBadge, { state: found.summary.status }), h(InBranch, { branch: found.summary.branch, here: { store, source } })),
    h(Why, found.explanation),
    h(Command, { label: "This as a command:", text: found.typed }),
    found.offers.length > 0 && h(Actions, { key, offers: found.offers, place, target: { keys: [key] } }),
    found.summary.last_error && h(Section, { title: "Last error" }, h(Json, { text: found.summary.last_error })),
    h(Section, { title: "What happened" }, h(Rows, { heads: ["When", "What", "Who", "Why", "Rows", "Records", "Spark"],
      rows: found.events.toReversed().map((one, place) => [found.events.length - place, h(Moment, { ...one, now }), one.what,
        h(Who, { name: one.who, task: one.task }), h(Text, { lineClamp: 3, wordBreak: "break-word" }, visible(one.why ?? "")), one.rows || "", one.records ?? "", h(Spark, one)]) })),
    found.heads.length > 0 && h(Section, { title: "Published" }, h(Published, { heads: found.heads, here: { store, source }, now })),
    found.accounting.length > 0 && h(Section, { title: "Accounting" }, h(Rows, {
      heads: ["Records", "Sink", "How many"],
      rows: found.accounting.map((one) => [`${one.count} ${one.sink}`, visible(one.count), visible(one.sink ?? ""), one.records]) })),
    h(Rows, { heads: ["Field", "Value"], rows: facts(found, now) }),
    found.payload && h(Section, { title: "Payload" }, h(Json, { text: found.payload })),
    found.progress && h(Section, { title: "Progress" }, h(Json, { text: found.progress })),
  ));
}

/** What a partition has published: in no branch, and in any; why readers do not see it only where they do not. */
function Published({ heads, here, now }) {
  const aside = heads.some(({ unseen }) => unseen);
  return h(Rows, { heads: ["Dataset", "Blocks", "Rows", "Bytes", "When", "Records", ...(aside ? ["Not seen by readers"] : [])],
    rows: heads.map((one) => [`${one.branch?.number} ${one.dataset}`,
      h(Text, { as: "span" }, h(To, { to: at({ ...here, dataset: one.dataset }) }, visible(one.dataset)), one.branch && ",", h(InBranch, { branch: one.branch, here })),
      one.blocks, one.rows, one.bytes, h(When, { at: one.published_at, now }), one.records ?? "", ...(aside ? [visible(one.unseen ?? "")] : [])]) });
}

/** Why it is not moving: what `airflow coordination explain` says. */
const Why = ({ sentence, next, command }) => h(Box, { as: "section", "aria-label": "Why it is not moving" },
  h(Text, { fontSize: "lg" }, visible(sentence)),
  next && h(Text, null, visible(next)),
  command && h(Command, { label: "Type:", text: command }));

function facts({ summary, ...found }, now) {
  const times = ["available_at", "reopen_at", "created_at", "updated_at"].map((name) => [name, found[name] && h(When, { at: found[name], now })]);
  const said = [["next", summary.next], ["next_at", summary.next_at && h(When, { at: summary.next_at, now })], ["owner", summary.owner && visible(summary.owner)],
    ["failures", summary.failures], ["lost_leases", summary.lost_leases], ["closed", summary.closed], ["priority", found.priority], ["fence", found.fence], ...times];
  return said.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [name, name.replaceAll("_", " "), value]);
}

/** When it was, and for a tenure since when. */
const Moment = ({ at: until, since, now }) => h("span", null, until ? h(When, { at: until, now }) : "now",
  since && h(Text, { as: "span", color: "fg.muted" }, " since ", h(When, { at: since, now })));

const Section = ({ title, children }) => h(Box, null, h(Heading, { size: "sm", mb: 1 }, title), children);

const Json = ({ text }) => h(Box, { as: "pre", fontSize: "sm", whiteSpace: "pre-wrap", wordBreak: "break-all", bg: "bg.muted", p: 2, borderRadius: "sm", maxHeight: "20rem", overflow: "auto" }, text.split("\n").map(visible).join("\n"));
