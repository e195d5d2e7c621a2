// The configuration of the duties: each key with what has set it, its history, and changing it for a reason.

import { post, useLive } from "./api.js";
import { Field, useWork } from "./forms.js";
import { Command, Problem, Read, Rows, When, h, visible } from "./parts.js";

const { useState } = globalThis.React;
const { Box, Button, HStack, Heading, Stack, Text } = globalThis.ChakraUI;

const PACE = 10_000; // milliseconds between two reads of one document with its versions
const FEW = 5; // versions of the history at first
const MOST = 50;

const shown = (value) => visible(JSON.stringify(value));
const Value = ({ of: value }) => h(Text, { as: "code", fontFamily: "mono", wordBreak: "break-word" }, shown(value));

/** What somebody has typed: JSON where it is some, else a text, so that PT5M needs no quotes. */
function meant(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The configuration of a store, its history, and a form for who wants to change it. */
export function Configuration({ store }) {
  const found = useLive("config", { store }, () => PACE);
  const [form, open] = useState(/** @type {any} */ (null));
  return h(Read, found, ({ kept, version, keys, notes, looked_at_all: all, typed, problem }, { now }) => {
    const change = (texts) => open({ seen: version, values: Object.fromEntries(keys.map(({ name, value }) => [name, value])), texts, opened: {} });
    return h(Stack, { gap: 3 },
      h(Box, { as: "section", "aria-label": "Configuration", borderWidth: 1, borderRadius: "md", p: 3 },
        h(HStack, { justify: "space-between", wrap: "wrap", mb: 2 }, h(Heading, { size: "sm" }, "Configuration"),
          h(HStack, null, h(Text, { as: "span", fontSize: "sm", color: "fg.muted" }, version ? `version ${version}` : "nobody has set anything"),
            kept && !problem && h(Button, { size: "xs", variant: "outline", "aria-expanded": Boolean(form), onClick: () => (form ? open(null) : change({})) }, "Change…"))),
        problem && h(Problem, null, `${visible(problem)} Replace all of it: ${visible(typed)}`),
        !kept && h(Text, null, "This store keeps no documents: these are the defaults, and cannot be changed."),
        notes.map((note) => h(Text, { key: note, role: "note", fontSize: "sm" }, `Note: ${visible(note)}.`)),
        form && h(Form, { key: JSON.stringify(form), form, store, keys, typed, close: () => open(null) }),
        keys.length > 0 && h(Rows, { label: "Keys", heads: ["Key", "Value"], rows: keys.map((key) => [key.name, h(Key, key), h(SetBy, { ...key, all })]) }),
        h(Text, { fontSize: "sm", color: "fg.muted", mt: 2 }, "A change is in force from the next run of each group on. Author and reason are kept.")),
      version > 0 && h(History, { store, version, now, back: kept && !problem ? (old) => change(differing(keys, old)) : null }));
  });
}

const Key = ({ name, means, ours }) => h(Box, { minWidth: "16ch" }, h(Text, { as: "code", fontFamily: "mono", wordBreak: "break-word" }, visible(name)),
  h(Text, { fontSize: "sm", color: "fg.muted" }, visible(means), ours && " Not of Druid."));

const SetBy = ({ value, default: usual, version, all }) => h(Box, null, h(Value, { of: value }), h(Text, { fontSize: "sm", color: "fg.muted", whiteSpace: "nowrap" },
  JSON.stringify(value) === JSON.stringify(usual) ? "default" : version ? `version ${version}` : all ? "" : "set longer ago"));

/** Returns, as one would type it, what an old version says otherwise than now. */
const differing = (keys, old) => Object.fromEntries(keys.filter(({ name, value }) => JSON.stringify(old[name]) !== JSON.stringify(value))
  .map(({ name, default: usual }) => [name, JSON.stringify(old[name]) === JSON.stringify(usual) ? "null" : JSON.stringify(old[name])]));

function Form({ form: { seen, values, texts: first }, store, keys, typed, close }) {
  const [texts, setTexts] = useState(first);
  const [why, setWhy] = useState("");
  const { state: { busy, result, problem }, set, run } = useWork();
  const others = keys.filter(({ name }) => !(name in texts));
  const submit = (event) => {
    event.preventDefault();
    const changes = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, meant(text)]));
    run(async () => set({ result: await post("config", { store, changes, seen, why }) }));
  };
  const add = ({ target: { value: name } }) => name && setTexts((last) => ({ ...last, [name]: JSON.stringify(values[name]) }));
  return h(Stack, { as: "section", "aria-label": "Change the configuration", borderWidth: 1, borderRadius: "md", p: 3, mb: 2, gap: 3, "aria-busy": Boolean(busy) },
    h(Text, null, `What is not named stays as it is; null is the default again. You have seen version ${seen}.`),
    h("form", { onSubmit: submit }, h(Stack, { gap: 2 },
      Object.entries(texts).map(([name, text]) => h(Box, { key: name }, h(HStack, null, h(Field, { label: name, value: text, required: true, set: (next) => setTexts((last) => ({ ...last, [name]: next })) })),
        h(Text, { fontSize: "sm", color: "fg.muted" }, h(Value, { of: values[name] }), " → ", h(Value, { of: meant(text) })))),
      h(Box, { as: "label", fontSize: "sm" }, "Key ", h(Box, { as: "select", value: "", onChange: add, borderWidth: 1, borderRadius: "sm", bg: "bg", p: 1, maxWidth: "100%" },
        h("option", { value: "" }, "choose one to change…"), others.map(({ name }) => h("option", { key: name, value: name }, name)))),
      h(HStack, null, h(Field, { label: "Why (kept in the history)", value: why, set: setWhy, required: true })),
      h(HStack, null, h(Button, { size: "sm", type: "submit", colorPalette: "brand", disabled: busy || !why.trim() || !Object.keys(texts).length || result?.done }, "Set"),
        h(Button, { size: "sm", variant: "ghost", onClick: close }, "Close")))),
    h(Command, { label: "The same as a command:", text: typed }),
    h(Box, { "aria-live": "polite" }, result && h(result.done ? Text : Problem, result.done ? { fontWeight: "bold", role: "status" } : null, visible(result.sentence)),
      result?.notes.map((note) => h(Text, { key: note }, `Note: ${visible(note)}.`)),
      result && !result.done && h(Text, { fontSize: "sm" }, "Nothing was changed. Close this and look at what holds now."),
      problem && h(Problem, { login: problem.login }, problem.message)));
}

/** Who has set what and why, the newest first, up to the version that is shown. */
function History({ store, version, now, back }) {
  const [limit, setLimit] = useState(FEW);
  return h(Box, { as: "section", "aria-label": "History", borderWidth: 1, borderRadius: "md", p: 3 }, h(Heading, { size: "sm", mb: 2 }, "History"),
    h(Read, useLive("config/history", { store, before: version + 1, limit }, () => 3 * PACE), ({ versions, before, typed }) => h(Stack, { gap: 3 },
      versions.map((one) => h(Version, { key: one.version, one, now, back: one.version === version ? null : back })),
      before && (limit < MOST ? h(Button, { size: "xs", variant: "outline", alignSelf: "start", onClick: () => setLimit(MOST) }, "Older ones")
        : h(Text, { fontSize: "sm" }, `Older ones: ${visible(typed)}`)))));
}

const Version = ({ one: { version, at, author, comment, changes, values, problem }, now, back }) => h(Box, { as: "article", "aria-label": `Version ${version}`, borderTopWidth: 1, pt: 2 },
  h(HStack, { justify: "space-between", wrap: "wrap" }, h("b", null, `version ${version}`), h(Text, { as: "span", fontSize: "sm", color: "fg.muted" }, visible(author ?? ""), ", ", h(When, { at, now }))),
  problem ? h(Problem, null, `cannot be read: ${visible(problem)}`)
    : changes === null && h(Text, { fontSize: "sm" }, "the version before is not kept any more, or cannot be read"),
  changes?.map(({ key, old, new: next }) => h(Text, { key, fontSize: "sm" }, h(Text, { as: "code", fontFamily: "mono" }, visible(key)), " ", h("del", null, h(Value, { of: old })), " → ", h(Value, { of: next }))),
  h(Text, { fontSize: "sm", color: "fg.muted", wordBreak: "break-word" }, `“${visible(comment ?? "")}”`),
  back && !problem && h(Button, { size: "2xs", variant: "outline", mt: 1, onClick: () => back(values) }, "Back to this version…"));
