// Branches of a source, with what they wait for; and what is hidden of its datasets. Readers see what this says.

import { useLive } from "./api.js";
import { Changes, Purge } from "./changing.js";
import { Command, Empty, Read, Rows, To, When, at, h, visible } from "./parts.js";

const { Badge, Box, HStack, Heading, Stack, Text } = globalThis.ChakraUI;

const PACE = 5000; // milliseconds between two reads: a document, and a count of each branch that has begun
const COLOURS = Object.assign(Object.create(null), { begun: "restarting", published: "success", final: "success", "rolled back": "scheduled", hidden: "scheduled", purging: "failed", "partly hidden": "scheduled" });
const colourOf = (state) => COLOURS[state] ?? "deferred";

export const BranchState = ({ state }) => h(Badge, { colorPalette: colourOf(state), variant: "subtle" }, visible(state));

/** The branch that a partition runs in, or that something was published in, with the way to it. */
export const InBranch = ({ branch, here }) => (branch
  ? h(Text, { as: "span", fontSize: "sm", whiteSpace: "nowrap" }, " in ", h(To, { to: at({ ...here, view: "branches" }) }, `branch ${branch.number}`), ` (${visible(branch.state)})`)
  : null);

/** All branches of a source, and all that is hidden of its datasets. */
export const Branches = ({ place: { store, source } }) => h(View, { here: { store, source } });

/** What readers see of one dataset: the branches of its source, and what is hidden of it. */
export const ViewOf = ({ here, dataset }) => h(View, { here, dataset });

function View({ here, dataset = undefined }) {
  return h(Read, useLive("view", { ...here, dataset }, () => PACE), ({ kept, branches, hidden, offers, typed }, { now }) => h(Stack, { gap: 4 },
    !kept && h(Empty, null, "This store keeps no branches, and nothing in it can be hidden."),
    kept && h(Part, { title: "Branches" },
      branches.length === 0 && h(Text, { color: "fg.muted" }, "There is none: readers see what each partition has published last."),
      branches.map((branch) => h(Branch, { key: branch.number, branch, here, now })),
      branches.length > 0 && h(Command, { label: "The same as a command:", text: typed })),
    kept && h(Part, { title: "Hidden" },
      hidden.length === 0 && h(Text, { color: "fg.muted" }, "Nothing is hidden."),
      hidden.length > 0 && h(HiddenRows, { hidden, named: dataset === undefined, here, now }),
      dataset !== undefined && h(Changes, { offers, here, about: { dataset }, label: "Hide" })),
    kept && offers.length > 0 && h(Purge, { here, dataset, now })));
}

const Part = ({ title, children }) => h(Box, { as: "section", "aria-label": title }, h(Heading, { size: "sm", mb: 2 }, title), children);

/** Branches that have begun, where they are only named: what waits, and the way to it. */
export const Waiting = ({ begun, here }) => (begun ?? []).map((branch) => h(Box, { key: branch.number, role: "note", colorPalette: colourOf("begun"), borderWidth: 1, borderLeftWidth: 4, borderColor: "colorPalette.solid", borderRadius: "md", px: 3, py: 2 },
  h(Text, null, h(To, { to: at({ ...here, view: "branches" }) }, `Branch ${branch.number}`), `${branch.interval ? ` of ${branch.interval}` : ""} is begun. ${visible(branch.sentence)} Readers see none of it until it is published.`),
  h(Progress, branch)));

function Branch({ branch, here, now }) {
  const { number, offers, state, interval, selection, sentence, by, why, at: since, changed_at: changed } = branch;
  return h(Box, { as: "article", "aria-label": `Branch ${number}`, borderWidth: 1, borderRadius: "md", p: 3, mb: 2 },
    h(HStack, { wrap: "wrap", justify: "space-between" },
      h(HStack, null, h(Heading, { size: "sm" }, `Branch ${number}`), h(BranchState, { state })),
      h(Text, { fontFamily: "mono", fontSize: "sm", title: visible(selection) }, interval ?? visible(selection))),
    h(Progress, branch),
    h(Text, null, visible(sentence)),
    h(Text, { color: "fg.muted", fontSize: "sm" }, `${visible(by)} began it `, h(When, { at: since, now }), `: “${visible(why)}”`,
      changed !== since && [`; ${visible(state)} `, h(When, { key: "changed", at: changed, now })]),
    h(Changes, { offers, here, about: { branch: number }, label: `Change branch ${number}` }));
}

/** How many partitions of a branch have completed, as a bar; nothing where it waits for none. */
function Progress({ expected, completed, parked, partitions }) {
  if (typeof completed !== "number") return null;
  const whole = Math.max(1, expected ?? partitions);
  const parts = [["success", completed, "completed"], ["failed", parked, "parked"]].filter(([, value]) => value);
  return h(Box, { display: "flex", height: "8px", my: 2, borderRadius: "sm", overflow: "hidden", bg: "bg.muted", role: "img",
    "aria-label": `${parts.map(([, value, name]) => `${value} ${name}`).join(", ") || "none completed"}, of ${whole}` },
  parts.map(([colour, value, name]) => h(Box, { key: name, colorPalette: colour, bg: "colorPalette.solid", width: `${(100 * Number(value)) / whole}%`, minWidth: "3px" })));
}

const HiddenRows = ({ hidden, named, here, now }) => h(Rows, { heads: [...(named ? ["Dataset"] : []), "Interval", "State", "Since", "By", "Why", "Until when"],
  rows: hidden.map((one) => [`${one.dataset} ${one.interval} ${one.since}`, ...(named ? [visible(one.dataset)] : []),
    h(Text, { as: "code", fontFamily: "mono", whiteSpace: "nowrap" }, one.interval), h(BranchState, { state: one.state }), h(When, { at: one.since, now }), visible(one.by),
    h(Text, { lineClamp: 3, wordBreak: "break-word" }, visible(one.why)), h(Until, { ...one, here })]) });

/** Until when it can be restored, and restoring it. */
const Until = ({ sentence, offers, dataset, interval, here }) => h(Box, null, h(Text, null, visible(sentence)),
  h(Changes, { offers, here, about: { dataset, interval }, label: `Restore ${interval}` }));

/** What readers do not see of a chunk, and which branches would replace it: in words. */
export const aside = ({ hidden, begun }) => [...(hidden ? [visible(hidden)] : []), ...(begun ?? []).map((number) => `in branch ${number}, begun`)];

/** The same as marks over a box of the colour that it has by itself: hatched what is hidden, with a lid what a branch has begun. */
export function marked(one, colour) {
  const own = `var(--chakra-colors-${colour}-solid)`;
  const mark = one.hidden && `var(--chakra-colors-${colourOf(one.hidden)}-solid)`;
  return {
    background: mark ? `repeating-linear-gradient(135deg, ${mark} 0 2px, transparent 2px 5px)` : own,
    ...(mark ? { outline: `1px solid ${mark}`, outlineOffset: "-1px" } : {}),
    ...(one.begun?.length ? { borderTop: `6px solid var(--chakra-colors-${colourOf("begun")}-solid)` } : {}),
  };
}
