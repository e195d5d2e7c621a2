// The partitions of a source as a list: its columns follow the state, some are chosen, or all that match.

import { Actions } from "./actions.js";
import { useLive } from "./api.js";
import { InBranch } from "./branches.js";
import { ago, Command, Empty, Key, Read, To, When, at, h, visible } from "./parts.js";
import { Detail } from "./source.js";
import { Word, wordOf } from "./states.js";

const { useState } = globalThis.React;
const { Box, Button, HStack, Input, Stack, Table, Text } = globalThis.ChakraUI;

const WHOLE = 500; // parked ones of one page: so many can be ordered by more than their keys
const QUIET = "A source of this size is read by its keys: it is ordered otherwise where all that match stand on one page.";

/** Partitions as a list; what the source says of itself stands above its first page. */
export function Partitions({ place: asked, go }) {
  const { store, source, prefix, owner, error, alike, from, to, after } = asked;
  const status = wordOf(asked.status);
  const place = { ...asked, status };
  const limit = status === "parked" ? WHOLE : undefined;
  const read = useLive("partitions", { store, source, status, prefix, owner, error, alike, from, to, after, limit });
  const here = { store, source };
  const narrowed = { prefix, owner, error, alike, from, to };
  return h(Stack, { gap: 3 },
    h(Detail, { source: here, status, narrowed, brief: Boolean(after) }),
    h(HStack, { wrap: "wrap", gap: 4, fontSize: "sm" },
      h(To, { to: at({ ...here, view: "owners" }) }, "OWNERS"), h(To, { to: at({ ...here, status, ...narrowed, view: "map" }) }, "MAP"),
      h(To, { to: at({ ...here, view: "datasets" }) }, "DATASETS"), h(To, { to: at({ ...here, view: "branches" }) }, "BRANCHES")),
    (from || to) && h(HStack, { wrap: "wrap", fontSize: "sm" }, "Only keys from", h(Key, { text: from ?? "the first" }), "to", h(Key, { text: to ?? "the last" }), h(To, { to: at({ ...here, status, prefix, owner, error, alike }) }, "All keys")),
    alike && h(HStack, { wrap: "wrap", fontSize: "sm" }, "Only with this last error:", h(Key, { text: alike }), h(To, { to: at({ ...here, status, prefix, owner, error, from, to }) }, "All errors")),
    h(Search, { key: JSON.stringify(narrowed), narrowed, search: (texts) => go(at({ ...here, status, ...texts })) }),
    h(Read, read, (page, { now }) => h(List, { key: JSON.stringify([store, source, status, narrowed, after]), page, now, place, here, narrowed })));
}

function List({ page: { typed, partitions, offers, after: next }, now, place, here, narrowed }) {
  const { status, prefix, owner, error, alike, from, to, after } = place;
  const [chosen, choose] = useState(/** @type {string[]} */ ([]));
  const [order, setOrder] = useState(/** @type {any} */ (null));
  const whole = !after && !next;
  const there = chosen.filter((key) => partitions.some((one) => one.key === key));
  const shown = order && whole ? partitions.toSorted(order.by) : partitions;
  const target = there.length > 0 ? { keys: there } : { filter: filterOf(place) };
  return h(Stack, null,
    offers.length > 0 && partitions.length > 0 && h(HStack, { wrap: "wrap", role: "group", "aria-label": "Meant" },
      h(Text, { as: "span", fontSize: "sm", "aria-live": "polite" }, there.length > 0 ? `${there.length.toLocaleString()} chosen:` : "All that match:"),
      there.length > 0 && h(Button, { size: "2xs", variant: "outline", onClick: () => choose([]) }, "Take all that match instead")),
    offers.length > 0 && h(Actions, { key: JSON.stringify(target), offers, place, target, begin: there.length === 0 ? place.act : undefined }),
    partitions.length
      ? h(Listed, { shown, status, now, here, whole, order, setOrder, ...(offers.length > 0 ? { chosen: there, choose } : {}) })
      : h(Empty, null, nothing(next, status || prefix || owner || error || alike || from || to)),
    h(HStack, null,
      after && h(To, { to: at({ ...here, status, ...narrowed }) }, "First page"),
      next && h(To, { to: at({ ...here, status, ...narrowed, after: next }) }, partitions.length ? "Next page" : "Look on")),
    h(Command, { label: "The same as a command:", text: typed }));
}

function nothing(next, narrowed) {
  if (next) return "None of those that were looked at matches. There are more.";
  return narrowed ? "No partition matches. Choose another state, or clear the search." : "This source has no partitions. Run its supplier.";
}

const filterOf = ({ status, prefix, owner, error, alike, from, to }) =>
  Object.fromEntries(Object.entries({ status, key_prefix: prefix, owner_like: owner, error_like: error, error_alike: alike, key_from: from, key_to: to }).filter(([, value]) => value));

const byText = (of) => (one, other) => (of(one) < of(other) ? -1 : of(one) > of(other) ? 1 : 0);
const byNumber = (of) => (one, other) => of(one) - of(other);

/** A column: its head, what a cell shows, and how it is ordered where that can be. */
const COLUMNS = Object.assign(Object.create(null), {
  key: { head: "Key", cell: (one, { here }) => h(Box, { fontFamily: "mono", minWidth: `${Math.max(16, Math.min(32, one.key.length))}ch` }, h(To, { to: at({ ...here, key: one.key }) }, h(Key, { text: one.key }))), by: byText((one) => one.key) },
  state: { head: "State", cell: (one, { here }) => h(Box, null, h(Word, { of: one.word }), h(InBranch, { branch: one.branch, here })), by: byText((one) => one.word) },
  since: { head: "For", cell: (one, { now }) => h(Since, { at: one.since, now }), by: byText((one) => one.since ?? "") },
  written: { head: "Last written", cell: (one, { now }) => h(When, { at: one.since, now }), by: byText((one) => one.since ?? "") },
  next: { head: "Next by itself", cell: (one, { here, now }) => h("span", null, visible(one.next ?? ""), (one.waits_for ?? []).map((key) => [" ", h(To, { key, to: at({ ...here, key }) }, h(Key, { text: key }))]), one.next_at && [" ", h(When, { key: "at", at: one.next_at, now })]), by: byText((one) => one.next_at ?? "") },
  owner: { head: "Owner", cell: (one) => visible(one.owner ?? ""), by: byText((one) => one.owner ?? "") },
  failures: { head: "Failures", cell: (one) => one.failures || "–", by: byNumber((one) => one.failures) },
  error: { head: "Last error", cell: (one, { above }) => (one.last_error && one.last_error === above?.last_error
    ? h(Text, { color: "fg.muted" }, "same as above") : h(Text, { lineClamp: 2, wordBreak: "break-word" }, visible(one.last_error ?? ""))), by: byText((one) => one.last_error ?? "") },
});
/** No column that says the same in every row. */
const OF_STATE = Object.assign(Object.create(null), {
  claimable: ["key", "since", "failures", "error"],
  held: ["key", "owner", "written", "next"],
  expired: ["key", "owner", "written", "next"],
  delayed: ["key", "since", "next", "failures", "error"],
  blocked: ["key", "since", "next"],
  parked: ["key", "since", "failures", "error"],
  completed: ["key", "since"],
});
const ALL = ["key", "state", "since", "next", "owner", "failures", "error"];

/** For how long; the moment is told by its title. */
const Since = ({ at: since, now }) => (since ? h("time", { dateTime: since, title: since, style: { whiteSpace: "nowrap" } }, ago(Math.max(0, (Date.parse(now) - Date.parse(since)) / 1000))) : "");

function Listed({ shown, status, now, here, whole, order, setOrder, chosen = /** @type {string[] | undefined} */ (undefined), choose = (/** @type {string[]} */ _) => {} }) {
  const named = OF_STATE[status] ?? ALL;
  const keys = shown.map(({ key }) => key);
  const all = chosen !== undefined && chosen.length === keys.length;
  const turn = (key) => choose(chosen?.includes(key) ? chosen.filter((one) => one !== key) : [...(chosen ?? []), key]);
  return h(Box, { overflowX: "auto", role: "region", "aria-label": "Partitions", tabIndex: 0 }, h(Table.Root, { size: "sm", striped: true },
    h(Table.Header, null, h(Table.Row, null,
      chosen && h(Table.ColumnHeader, { width: "30px" }, h("input", { type: "checkbox", checked: all, "aria-label": "Choose all on this page", onChange: () => choose(all ? [] : keys) })),
      named.map((name) => h(Head, { key: name, name, whole, order, setOrder })))),
    h(Table.Body, null, shown.map((one, place) => h(Table.Row, { key: one.key },
      chosen && h(Table.Cell, { verticalAlign: "top" }, h("input", { type: "checkbox", checked: chosen.includes(one.key), "aria-label": `Choose ${visible(one.key)}`, onChange: () => turn(one.key) })),
      named.map((name) => h(Table.Cell, { key: name, verticalAlign: "top" }, COLUMNS[name].cell(one, { here, now, above: shown[place - 1] }))))))));
}

function Head({ name, whole, order, setOrder }) {
  const { head, by } = COLUMNS[name];
  const now = order?.name === name && whole ? order.up ? "ascending" : "descending" : undefined;
  const up = now !== "ascending";
  const turn = () => setOrder({ name, up, by: up ? by : (one, other) => by(other, one) });
  return h(Table.ColumnHeader, { "aria-sort": now, whiteSpace: "nowrap" }, h(Button, { size: "2xs", variant: "ghost", px: 0, disabled: !whole, title: whole ? undefined : QUIET, onClick: turn },
    head, now && (now === "ascending" ? " ↑" : " ↓")));
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
