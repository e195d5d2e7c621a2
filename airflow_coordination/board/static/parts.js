// Small parts that every view is made of. Data becomes text nodes only, never HTML.

const { createElement, Fragment, useRef, useState } = globalThis.React;
const { Alert, Box, Button, HStack, Link, Spinner, Table, Text } = globalThis.ChakraUI;
const { Link: RouterLink } = globalThis.ReactRouterDOM;

export const h = createElement;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Writes what cannot be seen, or turns the line around, as an escape. */
export const visible = (text) =>
  text.replace(INVISIBLE, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);

/** @type {[string, number][]} */
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/** Returns a number of seconds in the largest unit it has. */
export function ago(seconds) {
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? UNITS[3];
  return `${Math.round(seconds / length)} ${unit}`;
}

/** The same in the two largest: 2 h 14 min. */
export function span(seconds) {
  if (seconds < 1) return "< 1 s";
  const place = UNITS.findIndex(([, length]) => seconds >= length);
  const [[unit, length], [small, part] = ["", 1]] = UNITS.slice(place);
  const count = Math.floor(seconds / length);
  const rest = Math.floor((seconds - count * length) / part);
  return small && rest ? `${count} ${unit} ${rest} ${small}` : `${count} ${unit}`;
}

/** A time, and how far it is from the store's clock. */
export function When({ at, now }) {
  if (!at) return "";
  const seconds = Math.round((Date.parse(at) - Date.parse(now)) / 1000);
  const amount = ago(Math.abs(seconds));
  return h("time", { dateTime: at, title: at }, seconds < 0 ? `${amount} ago` : `in ${amount}`);
}

/** Returns a link that keeps nothing but what is given. */
export const at = (place) => ({ search: `?${new URLSearchParams(Object.entries(place).filter(([, value]) => value))}` });

export const To = ({ to, children }) => h(Link, { asChild: true, color: "fg.info", textDecoration: "underline" }, h(RouterLink, { to }, children));

export const Key = ({ text }) => h(Text, { as: "code", fontFamily: "mono", wordBreak: "break-all", whiteSpace: "pre-wrap" }, visible(text));

/** A command that is copied by a click; where the browser does not let us, it is selected. */
export function Command({ text, label }) {
  const shown = useRef(null);
  const [said, say] = useState("Copy");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied");
    } catch {
      globalThis.getSelection()?.selectAllChildren(shown.current);
      say("Selected: press Ctrl+C");
    }
  };
  return h(HStack, { wrap: "wrap", color: "fg.muted", fontSize: "sm" }, label, h(Box, { ref: shown, as: "span" }, h(Key, { text })),
    h(Button, { size: "2xs", variant: "outline", onClick: copy, onBlur: () => say("Copy"), "aria-label": `${said}: ${visible(text)}` }, said));
}

/** Who did it: a try of a task, with the way to its log, or anybody else by name. */
export function Who({ name, task: owner }) {
  if (!owner) return visible(name ?? "");
  const { dag, run, task, map_index, try_number, hostname } = owner;
  const mapped = Number(map_index) >= 0;
  const parts = ["dags", dag, "runs", run, "tasks", task, ...(mapped ? ["mapped", map_index] : [])];
  const to = { pathname: `/${parts.map(encodeURIComponent).join("/")}`, search: `?try_number=${encodeURIComponent(try_number)}` };
  return h(Box, null, h(To, { to }, visible(`${dag} › ${task}${mapped ? ` [${map_index}]` : ""}`)),
    h(Text, { color: "fg.muted", fontSize: "sm" }, visible(`try ${try_number} of run ${run} on ${hostname}`)));
}

/** The Spark application; the server gives only addresses that lead to a page. */
export const Spark = ({ application, spark_url }) => (spark_url
  ? h(Link, { href: spark_url, target: "_blank", rel: "noreferrer", colorPalette: "brand" }, visible(application ?? "Spark UI"))
  : visible(application ?? ""));

export function Problem({ login, children }) {
  return h(Alert.Root, { status: "error", role: "alert", my: 2 }, h(Alert.Indicator), h(Alert.Title, null, children,
    login && h(Link, { href: login, ml: 2, textDecoration: "underline" }, "Log in")));
}

export const Empty = ({ children }) => h(Text, { color: "fg.muted", py: 4 }, children);

/** Shows what was read, its error above it, or that it is on its way. */
export function Read({ data, error, children, ...times }) {
  if (!data && !error) return h(Spinner, { size: "sm", "aria-label": "Loading" });
  return h(Fragment, null, error && h(Problem, { login: error.login }, error.message), data && children(data, times));
}

/** A table; one with a `label` can be scrolled by keys where it is wider than its place. */
export function Rows({ heads, rows, label = undefined }) {
  return h(
    Box,
    { overflowX: "auto", ...(label ? { role: "region", "aria-label": label, tabIndex: 0 } : {}) },
    h(
      Table.Root,
      { size: "sm", striped: true },
      h(Table.Header, null, h(Table.Row, null, heads.map((head) => h(Table.ColumnHeader, { key: head }, head)))),
      h(Table.Body, null, rows.map(([key, ...cells]) =>
        h(Table.Row, { key }, cells.map((cell, place) => h(Table.Cell, { key: place, verticalAlign: "top" }, cell))))),
    ),
  );
}
