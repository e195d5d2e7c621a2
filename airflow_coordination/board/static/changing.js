// Changing what readers see: a branch is published or rolled back, an interval is hidden or restored. Tried first,
// with what it would do to which dataset, and done only if nobody has changed it since.

import { post } from "./api.js";
import { Field, named, useWork } from "./forms.js";
import { Command, Key, Problem, Rows, When, h, visible } from "./parts.js";
import { bytes } from "./sizes.js";

const { useState } = globalThis.React;
const { Box, Button, HStack, Heading, Stack, Text } = globalThis.ChakraUI;
const LOSES = ["roll back", "hide"]; // these take rows from readers

/** Offers changes of `about`: a branch, or an interval of a dataset; nothing where the user may not act. */
export function Changes({ offers, here, about, label }) {
  const [chosen, choose] = useState(/** @type {any} */ (null));
  if (!offers?.length && !chosen) return null;
  return h(Box, null,
    h(HStack, { wrap: "wrap", role: "group", "aria-label": label }, offers.map((offer) => h(Button, { key: offer.action, size: "xs", title: offer.does,
      variant: offer.action === chosen?.action ? "solid" : "outline", "aria-pressed": offer.action === chosen?.action,
      ...(LOSES.includes(offer.action) ? { colorPalette: "red" } : {}),
      onClick: () => choose(offer.action === chosen?.action ? null : offer) }, `${named(offer.action)}…`))),
    chosen && h(Form, { key: chosen.action, ...chosen, here, about, close: () => choose(null) }));
}

function Form({ action, does, typed, here, about, close }) {
  const [why, setWhy] = useState("");
  const [interval, setInterval] = useState("");
  const { state: { busy, found, result, problem }, set, run, clear } = useWork();
  const asks = action === "hide";
  const asked = { ...here, action, ...about, ...(asks ? { interval } : {}) };
  const dryRun = (event) => {
    event.preventDefault();
    clear();
    run(async () => set({ found: await post("view/dry-run", asked) }));
  };
  const goOn = () => run(async () => set({ result: await post("view/change", { ...asked, why, stamp: found.stamp }) }));
  return h(Stack, { as: "section", "aria-label": named(action), borderWidth: 1, borderRadius: "md", p: 3, mt: 2, gap: 3, "aria-busy": Boolean(busy) },
    h(Text, null, `${does}.`),
    h(Command, { label: "The same as a command:", text: found?.typed ?? typed }),
    h("form", { onSubmit: dryRun }, h(HStack, { wrap: "wrap", alignItems: "end" },
      asks && h(Field, { label: "Interval, such as 2013-01/P1M", value: interval, set: (text) => { setInterval(text); clear(); }, required: true }),
      h(Field, { label: "Why (kept in its history)", value: why, set: setWhy, required: true }),
      h(Button, { size: "sm", type: "submit", variant: "outline", disabled: busy }, "Dry run"),
      h(Button, { size: "sm", variant: "ghost", onClick: close }, "Close"))),
    h(Box, { "aria-live": "polite" },
      found && h(Found, { found, action }),
      found && !found.refusal && !result && h(Button, { size: "sm", mt: 2, colorPalette: LOSES.includes(action) ? "red" : "brand", disabled: busy || !why.trim(), onClick: goOn }, named(action)),
      result && h(result.done ? Text : Problem, result.done ? { fontWeight: "bold", role: "status" } : null, visible(result.sentence)),
      problem && h(Problem, { login: problem.login }, problem.message)));
}

function Found({ found: { sentences, refusal, effects, counted }, action }) {
  if (refusal) return h(Problem, null, visible(refusal));
  return h(Stack, { gap: 2 },
    sentences.map((sentence) => h(Text, { key: sentence }, visible(sentence))),
    effects.length > 0 && h(Rows, { heads: ["Dataset", "Partitions that change", "Rows now", "Rows then", "Bytes now", "Bytes then"],
      rows: effects.map((one) => [one.dataset, visible(one.dataset), one.partitions.toLocaleString(), one.rows_before.toLocaleString(), one.rows_after.toLocaleString(),
        bytes(one.bytes_before), bytes(one.bytes_after)]) }),
    counted && effects.length === 0 && action !== "make final" && h(Text, null, "No row that readers see now changes."),
    h(Text, { fontWeight: "bold" }, `Dry run: would ${action}. Nothing was changed.`));
}

/** Says what a purge would delete; it deletes nothing, and offers nothing that does. */
export function Purge({ here, dataset, now }) {
  const { state: { busy, found, problem }, set, run, clear } = useWork();
  const ask = () => {
    clear();
    run(async () => set({ found: await post("purge/dry-run", { ...here, dataset }) }));
  };
  return h(Box, { as: "section", "aria-label": "Purge, dry run", "aria-busy": Boolean(busy) },
    h(HStack, { justify: "space-between" }, h(Heading, { size: "sm", mb: 2 }, "Purge, dry run"),
      h(Button, { size: "xs", variant: "outline", disabled: busy, onClick: ask }, busy ? "Looking …" : "See what it would delete")),
    h(Box, { "aria-live": "polite" }, found && h(Purged, { found, now }), problem && h(Problem, { login: problem.login }, problem.message)));
}

function Purged({ found: { sentence, margins, heads, samples, marks, skipped, refusal, typed }, now }) {
  if (refusal) return h(Stack, { gap: 2 }, h(Problem, null, visible(refusal)), h(Command, { label: "On the command line:", text: typed }));
  const waits = Object.entries(skipped).map(([what, number]) => `${number} partition(s) wait: ${visible(what)}`);
  return h(Stack, { gap: 2 },
    h(Text, null, h("b", null, visible(sentence)), ` Of what was ${visible(margins)}. Nothing was deleted.`),
    samples.length > 0 && h(Rows, { heads: [`First ${samples.length} of ${heads}`, "Files", "Rows", "Bytes", "Unseen for", "Because"],
      rows: samples.map(({ key, branch, files, rows, bytes: size, since, why }) => [`${key} ${branch}`, h(Text, { as: "span" }, h(Key, { text: key }), branch && `, in branch ${branch}`),
        files ?? "unknown", rows.toLocaleString(), bytes(size), h(When, { at: since, now }), h(Text, { lineClamp: 3, wordBreak: "break-word" }, visible(why))]) }),
    marks.length > 0 && h(Text, null, `It would mark ${marks.join(", ")}: nobody can restore that from then on.`),
    waits.map((text) => h(Text, { key: text, color: "fg.muted" }, text)),
    h(Command, { label: "Only the command line purges; this prints exactly the files:", text: typed }));
}
