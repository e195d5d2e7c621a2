// What one narrows the page of what people did by: who, what, to how much of which source, a text, and since when.

import { at, h, visible } from "../parts.js";

const { useEffect, useId, useState } = globalThis.React;
const { Box, Button, HStack, Input } = globalThis.ChakraUI;
const { useNavigate } = globalThis.ReactRouterDOM;

const EVENING = 18; // the hour from which on a night is looked at
const MINUTE = 60_000; // milliseconds
const HOUR = 60 * MINUTE;
const REACHES = [["source", "the source itself"], ["one", "one partition"], ["many", "many at once"]];
const TIMES = Object.assign(Object.create(null), { night: "Since 18:00", "24h": "24 h", "7d": "7 d" });

/** From when on, as a moment; the address has a word for it, so that it can be sent to somebody. */
export function sinceOf(within) {
  const now = new Date(Math.floor(Date.now() / MINUTE) * MINUTE);
  if (within === "24h" || within === "7d") return new Date(now.getTime() - (within === "7d" ? 7 : 1) * 24 * HOUR).toISOString();
  if (within !== "night") return undefined;
  const evening = new Date(now);
  evening.setHours(EVENING, 0, 0, 0);
  if (evening > now) evening.setDate(evening.getDate() - 1);
  return evening.toISOString();
}

const Labelled = ({ label, width, children }) => h(Box, { as: "label", fontSize: "xs", color: "fg.muted", flex: `0 1 ${width}` }, label, children);

/** A choice: none of `options` ([value, words]) is `all`. */
const Select = ({ label, all, options, value, set, width = "9rem" }) => h(Labelled, { label, width }, h(Box, { as: "select", display: "block", width: "100%", height: "32px", px: 2, borderWidth: 1, borderRadius: "md", bg: "bg.panel", color: "fg", fontSize: "sm",
  "aria-label": label, value: value ?? "", onChange: (event) => set(event.target.value || undefined) }, h("option", { value: "" }, all), options.map(([one, words]) => h("option", { key: one, value: one }, visible(words)))));

/** A text is taken when it is sent, a choice at once; both stand in the address. */
export function Filters({ page: { people, actions, of }, here, narrowed, search }) {
  const { by, has } = narrowed;
  const [texts, setTexts] = useState({ by: "", has: "" });
  useEffect(() => setTexts({ by: by ?? "", has: has ?? "" }), [by, has]);
  const go = useNavigate();
  const names = useId();
  const take = (some) => search({ ...narrowed, ...texts, ...some });
  const text = (name, label, width, more = {}) => h(Labelled, { label, width }, h(Input, { "aria-label": label, size: "sm", height: "32px", color: "fg", value: texts[name], maxLength: 1000, onChange: (event) => setTexts((last) => ({ ...last, [name]: event.target.value })), ...more }));
  const submit = (event) => {
    event.preventDefault();
    take({});
  };
  const known = (some, one) => (one && !some.includes(one) ? [...some, one] : some).map((each) => [each, each]);
  return h("form", { onSubmit: submit, role: "search", "aria-label": "Narrow it by" }, h(HStack, { wrap: "wrap", alignItems: "end", gap: 2 },
    text("by", "Who", "10rem", { list: names, placeholder: "everybody" }), h("datalist", { id: names }, people.map((one) => h("option", { key: one, value: one }))),
    h(Select, { label: "What", all: "everything", options: known(actions, narrowed.action), value: narrowed.action, set: (action) => take({ action }) }),
    h(Select, { label: "To how much", all: "whatever", options: REACHES, value: narrowed.reach, set: (reach) => take({ reach }) }),
    of.length > 0 && h(Select, { label: "Of", all: "all sources", options: of.map(({ source, name }) => [source, name]), value: "", set: (source) => go(at({ ...here, ...narrowed, ...texts, source })) }),
    here.source && h(Button, { size: "sm", variant: "outline", height: "32px", onClick: () => go(at({ ...here, ...narrowed, ...texts, source: undefined })) }, "Of all sources"),
    text("has", "Reason or key has", "14rem"),
    h(Button, { size: "sm", type: "submit", variant: "outline", height: "32px" }, "Search"),
    h(HStack, { role: "group", "aria-label": "Since when", gap: 1 }, [...Object.entries(TIMES), [undefined, "All"]].map(([within, words]) => h(Button, { key: words, size: "sm", height: "32px", variant: within === narrowed.within ? "solid" : "outline",
      colorPalette: "brand", "aria-pressed": within === narrowed.within, onClick: () => take({ within }) }, words)))));
}
