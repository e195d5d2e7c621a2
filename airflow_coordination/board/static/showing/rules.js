// The rules that decide about a dataset: in their order, what each decides now, when that changes, and which one fits.

import { read } from "../api.js";
import { Field, useWork } from "../forms.js";
import { Command, Problem, Rows, When, h, visible } from "../parts.js";

const { useState } = globalThis.React;
const { Box, Button, HStack, Heading, Stack, Text } = globalThis.ChakraUI;

/** Returns the first change that rules make by themselves: when, and what it does; nothing where there is none. */
export const firstChange = (rules) => (rules ?? []).filter(({ changes_at: moment }) => moment)
  .reduce((first, one) => (first && Date.parse(first.changes_at) <= Date.parse(one.changes_at) ? first : one), null);

/** The rules as they were read. */
export function Rules({ page, here, dataset, now }) {
  const { rules, version, author, why, changed_at: changed, typed } = page;
  return h(Box, { as: "section", "aria-label": "Rules", borderWidth: 1, borderRadius: "md", p: 3 },
    h(HStack, { justify: "space-between", wrap: "wrap", mb: 2 }, h(Heading, { as: "h2", size: "sm" }, "Rules"),
      h(Text, { fontSize: "sm", color: "fg.muted" }, version ? [`version ${version} by ${visible(author ?? "")} `, h(When, { key: "at", at: changed, now }), `: “${visible(why ?? "")}”`] : "none of its own: those of all datasets")),
    h(Rows, { label: "Rules, the first that fits decides", heads: ["The first that fits", "Chunks now", "Next change"], rows: rules.map((rule) => [rule.named,
      h(Box, null, h(Text, { as: "code", fontFamily: "mono", wordBreak: "break-word" }, visible(rule.named)), h(Text, { fontSize: "sm", color: "fg.muted" }, means(rule))),
      rule.chunks.toLocaleString(), h(Next, { rule, page, now })]) }),
    h(Text, { fontSize: "sm", color: "fg.muted", mt: 2 }, looked(page)),
    h(Fits, { here, dataset, explaining: page.explaining, now }),
    h(Command, { label: "Its own, as a command:", text: typed }));
}

function means({ drops, copies }) {
  if (drops) return "readers do not see it";
  const tiers = Object.entries(copies).map(([tier, number]) => `${number.toLocaleString()} in ${visible(tier)}`);
  return tiers.length ? `kept, with copies: ${tiers.join(", ")}` : "kept";
}

function Next({ rule: { chunks, changes_at: moment, then }, page: { ahead }, now }) {
  if (!ahead) return h(Text, { color: "fg.muted" }, "not computed");
  if (!moment) return h(Text, { color: "fg.muted" }, chunks ? "never by itself" : "nothing to change");
  return h(Box, null, h(When, { at: moment, now }), then.map((said) => h(Text, { key: said, fontSize: "sm", color: "fg.muted", wordBreak: "break-word" }, visible(said))));
}

function looked({ looked_at: number, looked_at_all: all, ahead }) {
  const of = all ? `All ${number.toLocaleString()} chunks that have an interval` : `The newest ${number.toLocaleString()} chunks`;
  return `${of} were looked at, as compaction cuts them.${ahead ? "" : " There are too many rules to say here when they change something."} Rules hide nothing before they are applied.`;
}

/** Asks which rule decides about one partition, or one interval. */
function Fits({ here, dataset, explaining, now }) {
  const [of, setOf] = useState("");
  const { state: { busy, found, problem }, set, run, clear } = useWork();
  const ask = (event) => {
    event.preventDefault();
    clear();
    run(async () => set({ found: (await read("rules", { ...here, dataset, of })).data }));
  };
  return h(Box, { my: 2, "aria-busy": Boolean(busy) },
    h("form", { onSubmit: ask }, h(HStack, { alignItems: "end", maxWidth: "32rem" },
      h(Field, { label: "Which rule fits this key, or this interval such as 2013-01/P1M", value: of, set: setOf, required: true }),
      h(Button, { size: "sm", type: "submit", variant: "outline", disabled: busy || !of.trim() }, "Tell"))),
    h(Box, { "aria-live": "polite" }, found?.fits && h(Told, { fits: found.fits, now }), problem && h(Problem, { login: problem.login }, problem.message)),
    h(Command, { label: "The same as a command:", text: found?.explaining ?? explaining }));
}

const Told = ({ fits: { interval, becomes, why, changes_at: moment, then, hidden_by: by, hidden_since: since }, now }) => h(Stack, { gap: 0, my: 2, role: "status" },
  h(Text, null, h("b", null, `${visible(interval)} is ${becomes}`), ` – ${visible(why)}`),
  h(Text, { color: "fg.muted" }, moment ? ["Another rule decides ", h(When, { key: "at", at: moment, now }), `: ${visible(then ?? "")}`] : "That never changes by itself."),
  by && h(Text, null, `Hidden by ${visible(by)} `, h(When, { at: since, now }), "."));
