// What happens by itself: groups of duties with what each duty did, who leads, what failed and what is next.

import { post, useLive } from "./api.js";
import { Configuration } from "./configuring.js";
import { Field, useWork } from "./forms.js";
import { Command, Empty, Problem, Read, Rows, To, When, Who, ago, at, h, visible } from "./parts.js";
import { bytes } from "./sizes.js";

const { useState } = globalThis.React;
const { Badge, Box, Button, HStack, Heading, Stack, Text } = globalThis.ChakraUI;

const PACE = 10_000; // milliseconds between two reads: twenty partitions, and who has led them last
const COLOURS = Object.assign(Object.create(null), { done: "success", failed: "failed", unreadable: "failed", silent: "restarting", overdue: "up_for_retry",
  running: "running", paused: "scheduled", waiting: "scheduled", "nothing to do": "scheduled" });
const colourOf = (state) => COLOURS[state] ?? "deferred";

/** The duties of each store that the board shows, or of one. */
export function Duties({ place: { store } }) {
  return h(Read, useLive("sources", {}, () => PACE), ({ stores, duties }) => {
    if (!duties) return h(Empty, null, "What happens by itself serves all sources, and is shown to who may edit all DAGs.");
    const shown = stores.filter(({ connection }) => !store || connection === store);
    return h(Stack, { gap: 8 }, shown.map(({ connection }) => h(OfStore, { key: connection, store: connection, named: shown.length > 1 })));
  });
}

function OfStore({ store, named }) {
  const found = useLive("duties", { store }, () => PACE);
  return h(Box, { as: "section", "aria-label": `Duties in ${visible(store)}` },
    named && h(Heading, { size: "md", mb: 2 }, visible(store)),
    h(Read, found, (page, { now }) => h(Stack, { gap: 3 },
      page.troubles.length > 0 && h(Troubles, { troubles: page.troubles, now }),
      h(Box, { display: "grid", gap: 4, alignItems: "start", gridTemplateColumns: { base: "minmax(0, 1fr)", lg: "minmax(0, 2fr) minmax(0, 1fr)" } },
        h(Stack, { gap: 3, minWidth: 0 },
          page.groups.map((group) => h(Group, { key: group.name, group, here: { store, source: page.source }, now })),
          page.empty && h(Never, page),
          page.more && h(Text, null, "There are more groups than are shown here."),
          page.groups.length > 0 && h(Command, { label: "The same as a command:", text: page.typed })),
        h(Stack, { gap: 3, minWidth: 0 }, h(Configuration, { store }), h(Locations, { ...page, now }))))));
}

/** What failed, and what happens by itself next; what waits for a person is red. */
const Troubles = ({ troubles, now }) => h(Box, { as: "section", "aria-label": "What failed" }, troubles.map(({ sentence, then, at: when, person }) => h(Box, {
  key: sentence, role: "note", colorPalette: person ? "failed" : "up_for_retry", borderWidth: 1, borderLeftWidth: 4, borderColor: "colorPalette.solid", borderRadius: "md", p: 3, mb: 2 },
h(Text, { fontWeight: "medium", wordBreak: "break-word" }, visible(sentence)),
h(Text, { fontSize: "sm", color: "fg.muted" }, `Next by itself: ${visible(then)}`, when && [" The next run is due ", h(When, { key: "when", at: when, now }), "."]))));

const Never = ({ empty, how, starting }) => h(Box, null, h(Empty, null, visible(empty)), h(Text, null, visible(how)), h(Command, { label: "Type:", text: starting }));

function Group({ group, here, now }) {
  const { name, standing, period, runs, ran_at, took, due, duties, offers } = group;
  const most = Math.max(0.001, ...duties.map((duty) => duty.took));
  return h(Box, { as: "article", "aria-label": visible(name), borderWidth: 1, borderRadius: "md", p: 3 },
    h(HStack, { wrap: "wrap", justify: "space-between", mb: 2 },
      h(HStack, { wrap: "wrap" }, h(Heading, { size: "sm" }, visible(name)), h(State, { state: standing }),
        period && h(Text, { as: "span", color: "fg.muted", fontSize: "sm" }, `every ${ago(period)}`), runs.length > 0 && h(Runs, { runs })),
      h(Text, { as: "span", fontSize: "sm", color: "fg.muted" }, ran_at ? ["last run ", h(When, { key: "ran", at: ran_at, now }), ` in ${seconds(took)}`] : "has not run yet",
        " · ", due ? ["next ", h(When, { key: "due", at: due, now })] : standing === "running" ? "runs now" : "is run by whoever comes next")),
    duties.length > 0 && h(Rows, { label: `Duties of ${visible(name)}`, heads: ["Duty", "Result", "What it did", "Took"], rows: duties.map((duty) => [duty.name,
      h(Text, { as: "span", whiteSpace: "nowrap" }, visible(duty.name)), h(Result, duty), h(Did, duty), h(Took, { ...duty, most })]) }),
    h(HStack, { wrap: "wrap", gap: 4, mt: 2, fontSize: "sm", alignItems: "start" }, h(Leads, { ...group, now }),
      h(Text, { as: "span" }, h(To, { to: at({ ...here, key: group.key }) }, "its runs"))),
    h(RunNow, { offer: offers[0], store: here.store, group: name }));
}

const State = ({ state }) => h(Badge, { colorPalette: colourOf(state), variant: "subtle" }, visible(state));

const seconds = (number) => (number < 0.1 ? "< 0.1 s" : number < 10 ? `${number.toFixed(1)} s` : ago(number));

/** The last runs as marks, the newest last: one with a failed duty stands out by height and colour. */
const Runs = ({ runs }) => h(Box, { as: "span", display: "inline-flex", gap: "2px", alignItems: "end", height: "14px", role: "img",
  "aria-label": `${runs.length} runs, ${runs.filter((run) => run === "failed").length} of them with a failed duty` },
runs.map((run, place) => h(Box, { key: place, as: "i", "data-run": run, title: `${runs.length - place} runs ago: ${run === "failed" ? "a duty failed" : visible(run)}`, colorPalette: colourOf(run),
  bg: "colorPalette.solid", width: "5px", height: run === "failed" ? "14px" : "9px", borderRadius: "1px" })));

const Result = ({ outcome, fails }) => h(Badge, { colorPalette: colourOf(outcome), variant: "subtle", whiteSpace: "nowrap" },
  fails > 1 ? `failed ${fails} × in a row` : visible(outcome));

const Did = ({ said, outcome, counts, warnings }) => h(Box, { minWidth: "20ch" },
  h(Text, { wordBreak: "break-word", ...(outcome === "failed" ? { fontFamily: "mono", fontSize: "sm" } : {}) }, visible(said)),
  warnings.map((warning) => h(Text, { key: warning, wordBreak: "break-word" }, `Warning: ${visible(warning)}`)),
  Object.keys(counts).length > 0 && h(Text, { color: "fg.muted", fontSize: "sm", wordBreak: "break-word" },
    Object.entries(counts).map(([name, number]) => `${visible(name)} ${number.toLocaleString()}`).join(", ")));

const Took = ({ took, most, outcome }) => h(HStack, { justify: "end", gap: 2, whiteSpace: "nowrap" },
  h(Box, { as: "span", "aria-hidden": true, width: "44px" }, h(Box, { as: "span", display: "block", height: "8px", borderRightRadius: "sm", colorPalette: colourOf(outcome), bg: "colorPalette.solid",
    width: `${Math.max(3, (100 * took) / most)}%` })), seconds(took));

/** Who runs it now, or did so last; a term is one time that somebody has come to run it. */
function Leads({ leader, last_leader: last, led_since: since, term, now }) {
  const who = leader ?? last;
  return h(Box, { color: "fg.muted" },
    who && h(HStack, { alignItems: "start", gap: 1 }, h(Text, { as: "span" }, leader ? "leads:" : "led last:"), h(Box, null, h(Who, { name: who.owner, task: who.task }))),
    h(Text, null, since && ["led without a break since ", h(When, { key: "since", at: since, now }), " · "], `term ${term.toLocaleString()}`,
      leader?.until && [" · lease ends ", h(When, { key: "until", at: leader.until, now })]));
}

/** Lets a group be run by whoever comes next, for a reason. */
function RunNow({ offer, store, group }) {
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const { state: { busy, result, problem }, set, run, clear } = useWork();
  const [why, setWhy] = useState("");
  if (!offer && !open) return null;
  const submit = (event) => {
    event.preventDefault();
    run(async () => set({ result: await post("duties/run-now", { store, group, why }) }));
  };
  if (!open) return h(Button, { size: "xs", variant: "outline", mt: 2, title: offer.does, onClick: () => { clear(); setOpen(offer); } }, "Run now…");
  return h(Stack, { as: "section", "aria-label": `Run ${visible(group)} now`, borderWidth: 1, borderRadius: "md", p: 3, mt: 2, gap: 2, "aria-busy": Boolean(busy) },
    h(Text, null, `${open.does}.`), h(Command, { label: "The same as a command:", text: open.typed }),
    h("form", { onSubmit: submit }, h(HStack, { wrap: "wrap", alignItems: "end" }, h(Field, { label: "Why (kept in the audit)", value: why, set: setWhy, required: true }),
      h(Button, { size: "sm", type: "submit", colorPalette: "brand", disabled: busy || !why.trim() || Boolean(result) }, "Run now"),
      h(Button, { size: "sm", variant: "ghost", onClick: () => setOpen(null) }, "Close"))),
    h(Box, { "aria-live": "polite" }, result && h(result.done ? Text : Problem, result.done ? { fontWeight: "bold", role: "status" } : null, visible(result.sentence)),
      problem && h(Problem, { login: problem.login }, problem.message)));
}

/** Where copies may lie, and which of these places are lost; how full they are is counted by a command alone. */
function Locations({ locations, counting, now }) {
  if (!locations?.length) return null;
  return h(Box, { as: "section", "aria-label": "Locations", borderWidth: 1, borderRadius: "md", p: 3 }, h(Heading, { size: "sm", mb: 2 }, "Locations of copies"),
    h(Rows, { label: "Locations", heads: ["Name", "Tier", "Capacity", "State"], rows: locations.map((one) => [one.name, h(Text, { as: "span", title: visible(one.root) }, visible(one.name)),
      visible(one.tier), bytes(one.capacity), one.lost_since ? h(Text, { fontWeight: "bold" }, "lost ", h(When, { at: one.lost_since, now }), `: ${visible(one.why)}`)
        : one.draining ? "draining" : "there"]) }),
    h(Command, { label: "How full they are, and where each chunk lies:", text: counting }));
}
