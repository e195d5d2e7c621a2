// What people do: choose, try, look at what it would fall on, carry out, see what became of it.

import { post } from "./api.js";
import { Field, named, useWork } from "./forms.js";
import { Word } from "./states.js";
import { Command, Key, Problem, Rows, To, at, h, visible } from "./parts.js";

const { useEffect, useState } = globalThis.React;
const { Box, Button, HStack, Stack, Text } = globalThis.ChakraUI;

const AT_ONCE = 25; // partitions in one request
const AGAIN = "reset and run"; // an action of its own: on one partition, and on its DAG
const TOLD = 10; // refusals that are said in full
/** @type {any} what the server says of a portion, added up */
const NONE = { matching: 0, fit: 0, refused: 0, refusals: [], samples: [], meant: [], sentence: null };

/** Adds the next portion to what was counted so far. */
const added = (sum, part) => ({
  ...part,
  fit: sum.fit + part.fit,
  refused: sum.refused + part.refused,
  refusals: [...sum.refusals, ...part.refusals].slice(0, TOLD),
  samples: sum.samples.length ? sum.samples : part.samples,
  meant: [...sum.meant, ...part.meant],
  locked_in: sum.meant.length && sum.locked_in !== part.locked_in ? null : part.locked_in,
});

/** Tries `asked` portion by portion, telling `tell` of each, as long as somebody `waits`. */
async function tryOut(asked, tell, waits) {
  let sum = NONE;
  for (let first = 0; asked.keys && first < asked.keys.length && waits(); first += AT_ONCE) {
    sum = added(sum, await post("actions/dry-run", { ...asked, keys: asked.keys.slice(first, first + AT_ONCE) }));
    tell({ ...sum, after: first + AT_ONCE < asked.keys.length ? "more" : null });
  }
  if (asked.keys) return;
  do {
    const so_far = { after: sum.after, matching: sum.matching, meant: sum.meant.length };
    sum = added(sum, await post("actions/dry-run", { ...asked, ...so_far }));
    tell(sum);
  } while (sum.after && waits());
}

/** Carries out `asked` on what was counted; what is done stays told if a later request fails. */
async function carryOut(asked, meant, tell, waits) {
  /** @type {any} */
  let sum = { done: 0, tried: 0, refusals: [], problem: null };
  const batch = meant.length > 1 ? `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}` : null; // what was done at once
  while (sum.tried < meant.length && !sum.problem && waits()) {
    const some = meant.slice(sum.tried, sum.tried + AT_ONCE);
    const { done, refusals, problem } = await post("actions", { ...asked, batch, meant: some });
    sum = { done: sum.done + done, tried: sum.tried + some.length, refusals: [...sum.refusals, ...refusals], problem };
    tell(sum);
  }
}

/** Offers actions on `target`: the keys that are named, or all that a filter finds. */
export function Actions({ offers, place: { store, source }, target, begin = undefined }) {
  const [chosen, choose] = useState(offers.some(({ action }) => action === begin) ? begin : null);
  const button = ({ action, does, advised, final }) => h(Button, { key: action, size: "xs", variant: advised || action === chosen ? "solid" : "outline", title: does, "aria-pressed": action === chosen,
    ...(advised ? { colorPalette: "brand" } : {}), ...(final && action !== chosen ? { colorPalette: "failed", color: "colorPalette.fg", borderColor: "colorPalette.solid" } : {}), onClick: () => choose(action === chosen ? null : action) }, named(action));
  return h(Box, { as: "section", "aria-label": "Actions" },
    h(HStack, { wrap: "wrap", role: "group", "aria-label": "Choose an action" },
      offers.filter(({ final }) => !final).toSorted((one, other) => Number(Boolean(other.advised)) - Number(Boolean(one.advised))).map(button),
      offers.some(({ final }) => final) && h(Text, { as: "span", color: "fg.muted", fontSize: "sm", ml: 4 }, "cannot be taken back:"),
      offers.filter(({ final }) => final).map(button)),
    chosen === AGAIN ? h(Again, { here: { store, source }, key: target.keys[0], partition: target.keys[0], ...offers.find(({ action }) => action === AGAIN) })
      : chosen && h(Form, { key: chosen, asked: { store, source, action: chosen }, target, at_once: chosen === begin, ...offers.find(({ action }) => action === chosen) }));
}

/** Tries at once what an address asks for: a dry run changes nothing. */
function Form({ asked, target, does, typed, at_once }) {
  const [why, setWhy] = useState("");
  const [error, setError] = useState("");
  const [branch, setBranch] = useState(/** @type {number | null} */ (null));
  const { state, set, run, clear, waits } = useWork();
  const tryIn = (into) => {
    clear();
    setBranch(into);
    run(() => tryOut({ ...asked, ...narrowed(target, error), branch: into }, (found) => set({ found }), waits));
  };
  const dryRun = (event) => {
    event.preventDefault();
    tryIn(null);
  };
  useEffect(() => {
    if (at_once) tryIn(null);
  }, []);
  const goOn = () => run(() => carryOut({ ...asked, why, branch }, state.found.meant, (result) => set({ result }), waits));
  const { busy, found, result, problem } = state;
  return h(Stack, { borderWidth: 1, borderRadius: "md", p: 3, mt: 2, gap: 3, "aria-busy": Boolean(busy) },
    does && h(Text, null, `${does}.`),
    typed && h(Command, { label: "The same as a command:", text: typed }),
    h("form", { onSubmit: dryRun }, h(HStack, { wrap: "wrap", alignItems: "end" },
      h(Field, { label: "Why (kept with each partition)", value: why, set: setWhy, required: true }),
      target.filter && !target.filter.error_like && h(Field, { label: "Only with this in the last error", value: error, set: (text) => { setError(text); clear(); } }),
      h(Button, { size: "sm", type: "submit", variant: "outline", disabled: busy }, "Dry run"))),
    h(Box, { "aria-live": "polite" },
      found && h(Found, { found, busy: busy && !result, action: asked.action }),
      found && !found.after && found.locked_in && !result && h(Locked, { number: found.locked_in, asked, busy, tryIn }),
      found && !found.after && found.meant.length > 0 && !found.locked_in && !result &&
        h(Button, { size: "sm", mt: 2, colorPalette: "brand", disabled: busy || !why.trim(), onClick: goOn }, `${named(asked.action)} ${found.meant.length} partition(s)${branch ? ` in branch ${branch}` : ""}`),
      result && h(Result, { result, action: asked.action, of: found.meant.length }),
      problem && h(Problem, { login: problem.login }, problem.message)));
}

/** Starts one partition afresh and triggers a run of its DAG, which tries it first: said before, done by one click. */
function Again({ here, partition: key, does, typed }) {
  const [why, setWhy] = useState("");
  const { state: { busy, found, asked, result, problem }, set, run, clear } = useWork();
  const tryWith = (dag) => {
    clear();
    const wanted = { ...here, key, ...(dag ? { dag } : {}) };
    run(async () => set({ asked: wanted, found: await post("actions/again/dry-run", wanted) }));
  };
  const goOn = () => run(async () => set({ result: await post("actions/again", { ...asked, why, stamp: found.stamp }) }));
  return h(Stack, { as: "section", "aria-label": "Reset and run", borderWidth: 1, borderRadius: "md", p: 3, mt: 2, gap: 3, "aria-busy": Boolean(busy) },
    does && h(Text, null, `${does}.`),
    typed && h(Command, { label: "The same as a command:", text: typed }),
    h("form", { onSubmit: (event) => { event.preventDefault(); tryWith(null); } }, h(HStack, { wrap: "wrap", alignItems: "end" },
      h(Field, { label: "Why (kept with the partition)", value: why, set: setWhy, required: true }),
      h(Button, { size: "sm", type: "submit", variant: "outline", disabled: busy }, "Dry run"))),
    h(Box, { "aria-live": "polite" },
      found && !found.refusal && found.sentences.map((sentence) => h(Text, { key: sentence }, visible(sentence))),
      found && !found.refusal && h(HStack, { wrap: "wrap", color: "fg.muted", fontSize: "sm" }, "The run's configuration:", h(Key, { text: found.conf })),
      found?.refusal && h(Problem, null, visible(found.refusal)),
      found?.dags.length > 1 && !result && h(HStack, { wrap: "wrap", role: "group", "aria-label": "Choose a DAG" },
        found.dags.map((dag) => h(Button, { key: dag, size: "xs", variant: dag === found.dag ? "solid" : "outline", disabled: busy, onClick: () => tryWith(dag) }, visible(dag)))),
      found && !found.refusal && !result && h(Stack, { align: "start" }, h(Text, { fontWeight: "bold" }, "Dry run: nothing was changed."),
        h(Button, { size: "sm", colorPalette: "brand", disabled: busy || !why.trim(), onClick: goOn }, `Reset it and run ${visible(found.dag)}`)),
      result && h(RunAgain, result),
      problem && h(Problem, { login: problem.login }, problem.message)));
}

/** What became of it: the run, or what to type where there is none. */
const RunAgain = ({ sentence, dag, run, typed }) => (run
  ? h(Text, { fontWeight: "bold", role: "status" }, visible(sentence), " ", h(To, { to: { pathname: `/dags/${encodeURIComponent(dag)}/runs/${encodeURIComponent(run)}` } }, "See the run"))
  : h(Box, null, h(Problem, null, visible(sentence)), typed && h(Command, { label: "To trigger it by hand:", text: typed })));

/** What there is instead of a reset out of a branch that has begun. */
const Locked = ({ number, asked: { store, source }, busy, tryIn }) => h(HStack, { wrap: "wrap", mt: 2, role: "group", "aria-label": "Instead" },
  h(Button, { size: "sm", variant: "outline", disabled: busy, onClick: () => tryIn(number) }, `Dry run in branch ${number}`),
  h(To, { to: at({ store, source, view: "branches" }) }, `Publish branch ${number}, or roll it back`));

const narrowed = ({ keys, filter }, error) => (keys ? { keys } : { filter: { ...filter, ...(error ? { error_like: error } : {}) } });

function Found({ found, busy, action }) {
  const { sentence, matching, samples, fit, meant, refusals, refused, after } = found;
  return h(Stack, { gap: 2 },
    h(Text, null, sentence ? visible(sentence) : after && `${matching.toLocaleString()} found so far${busy ? " …" : "; counting was not finished."}`),
    samples.length > 0 && h(Rows, { heads: ["Key", "State", "Owner", "Last error", ...(samples.some(isAtStake) ? [whatIsAtStake(samples)] : [])],
      rows: samples.map((one) => [one.key, h(Key, { text: one.key }), h(Word, { of: one.word }), visible(one.owner ?? ""),
        h(Text, { lineClamp: 2 }, visible(one.last_error ?? "")), ...(samples.some(isAtStake) ? [atStake(one)] : [])]) }),
    !after && h(Text, { fontWeight: "bold" }, `Dry run: would ${action} ${fit} of ${meant.length}. Nothing was changed.`),
    h(Refusals, { refusals, more: refused - refusals.length }));
}

const isNumber = (value) => typeof value === "number";
const isAtStake = ({ rows, children, released }) => isNumber(rows) || isNumber(children) || isNumber(released);
const whatIsAtStake = (samples) => samples.some(({ children }) => isNumber(children)) ? "May start after it"
  : samples.some(({ released }) => isNumber(released)) ? "Goes on without it" : "Output at stake";
const atStake = ({ rows, datasets, children, released, named: keys }) =>
  isNumber(rows) ? `${rows} rows ${visible(datasets ?? "")}` : `${(children ?? released ?? 0).toLocaleString()} ${visible(keys ?? "")}`;

function Result({ result: { done, tried, refusals, problem }, action, of }) {
  return h(Stack, { gap: 2, role: "status" },
    h(Text, { fontWeight: "bold" }, tried < of && !problem ? `${tried} of ${of} …` : `Done: ${action} ${done} of ${of}.`),
    problem && h(Problem, null, `${problem} ${of - done - refusals.length} were not tried.`),
    h(Refusals, { refusals: refusals.slice(0, TOLD), more: refusals.length - TOLD }));
}

function Refusals({ refusals, more }) {
  return h(Box, null, refusals.map(({ key, reason }) => h(Text, { key, fontSize: "sm", color: "fg.error" }, visible(reason))),
    more > 0 && h(Text, { fontSize: "sm" }, `${more} more were refused.`));
}
