// What was published, and how far it is merged: all datasets, those of one source, and the chunks of one dataset.
// All of it is what the planner of compaction has written down; nothing is counted for who looks.

import { useLive } from "./api.js";
import { BranchState, ViewOf, Waiting, aside, marked } from "./branches.js";
import { Command, Empty, Key, Problem, Read, Rows, To, When, Who, at, h, visible } from "./parts.js";
import { bytes } from "./sizes.js";
import { colourOf as colourOfState } from "./states.js";
import { isUpkeep } from "./overview.js";
import { Rules as Ruling, firstChange } from "./showing/rules.js";
import { Settings } from "./showing/settings.js";

const { useCallback, useEffect, useRef, useState } = globalThis.React;
const { Badge, Box, HStack, Heading, SimpleGrid, Stack, Text } = globalThis.ChakraUI;

const PACE = 30_000; // milliseconds between two reads: a plan is made every few minutes at most
const STATES = ["fresh", "partly", "merged", "left out"];
const COLOURS = Object.assign(Object.create(null), { fresh: "running", partly: "up_for_retry", merged: "success", "left out": "scheduled" });
const colourOf = (state) => COLOURS[state] ?? "deferred";

const count = (number) => (typeof number === "number" ? number.toLocaleString() : "unknown");

/** Says what was and what is, once where nothing has changed; what is not known is not drawn as zero. */
const change = (before, now, told) => (before === now ? told(before) : `${told(before)} → ${told(now)}`);

/** Returns the interval of a chunk, as short as it can be said: days without their midnights. */
function interval({ start, end }) {
  if (!start || !end) return "no interval";
  const [from, to] = [start, end].map((moment) => moment.replace(/T00:00:00Z$/, ""));
  return Date.parse(end) - Date.parse(start) === 86_400_000 && from.length === 10 ? from : `${from} – ${to}`;
}

/** All datasets that one may see, source by source: each asks when it is on the screen. */
export function Datasets({ place: { dag } }) {
  const [known, setKnown] = useState({});
  const tell = useCallback((which, datasets) => setKnown((last) => ({ ...last, [which]: datasets })), []);
  return h(Read, useLive("sources", { dag }, () => PACE), ({ stores }) => {
    const sources = stores.flatMap((store) => store.sources.filter((one) => !isUpkeep(one)));
    return h(Stack, { gap: 6 }, stores.filter(({ problem }) => problem).map(({ connection, problem }) => h(Problem, { key: connection }, problem)),
      sources.length > 0 && h(Whole, { found: sources.map(placeOf).map((which) => known[which]) }),
      sources.map((one) => h(OnScreen, { key: placeOf(one), one, tell })),
      !sources.length && h(Empty, null, "There is no source that belongs to a DAG that you may read, and so no dataset."));
  });
}

const placeOf = ({ store, source }) => `${store} ${source}`;

/** What all datasets add up to that were read; sources are read as one comes to them, and it says of how many that is. */
function Whole({ found }) {
  const all = found.flatMap((some) => some ?? []);
  const datasets = all.filter(({ summed }) => summed);
  const number = found.filter(Boolean).length;
  if (!number) return h(Text, { fontSize: "xs", color: "fg.muted" }, "No source was read yet.");
  const unknown = datasets.filter((one) => known(one).rows === undefined).length;
  const sum = (name) => (unknown < datasets.length ? datasets.reduce((whole, one) => whole + (known(one)[name] ?? 0), 0) : undefined);
  const size = (name) => (unknown < datasets.length ? bytes(sum(name)) : "unknown");
  const waiting = datasets.filter(({ left_chunks: chunks }) => chunks);
  const hidden = all.reduce((whole, one) => whole + one.hidden, 0);
  return h(Box, { as: "section", "aria-label": "All datasets" },
    h(Facts, { facts: [
      ["datasets", count(datasets.length), datasets.some(({ whole }) => !whole) ? "of some only the newest chunks" : "", unknown ? `of ${count(unknown)} nothing is known` : ""],
      ["rows", count(sum("rows")), `of ${count(sum("heads"))} partitions`],
      ["files", count(sum("files_now")), `${count(sum("files_before"))} were published`],
      ["bytes", size("bytes_now"), `${size("bytes_before")} were published`],
      ["left to merge", waiting.length ? bytes(waiting.reduce((whole, one) => whole + one.left_bytes, 0)) : "nothing", waiting.length ? `in ${count(waiting.length)} ${waiting.length === 1 ? "dataset" : "datasets"}` : ""],
      ["hidden intervals", count(hidden), ""],
    ] }),
    h(Text, { fontSize: "xs", color: "fg.muted", mt: 1 }, number < found.length ? `Of the ${count(number)} sources that were read so far, each as it was then; there are ${count(found.length)}, read as one comes to them.` : `Of all ${count(number)} sources, each as it was when one came to it.`));
}

/** Numbers beside each other: each has a name, and what is to say of it. */
const Facts = ({ facts }) => h(SimpleGrid, { columns: { base: 2, lg: 6 }, gap: 3 }, facts.map(([label, value, ...more]) => h(Box, { key: String(label), as: "section", "aria-label": label, borderWidth: 1, borderRadius: "md", p: 3 },
  h(Text, { fontSize: "sm", color: "fg.muted" }, label), h(Text, { fontWeight: "bold" }, value), more.filter(Boolean).map((text, place) => h(Text, { key: place, fontSize: "xs", color: "fg.muted", wordBreak: "break-word" }, text)))));

function OnScreen({ one: { store, source, name }, tell }) {
  const shown = useRef(null);
  const [seen, see] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => see(entries.some((entry) => entry.isIntersecting)));
    watch.observe(shown.current);
    return () => watch.disconnect();
  }, []);
  return h(Box, { ref: shown, as: "section", "aria-label": visible(name), minHeight: "3rem" },
    h(Heading, { size: "sm", mb: 2 }, h(To, { to: at({ store, source, view: "datasets" }) }, visible(name)), h(Text, { as: "span", color: "fg.muted", fontWeight: "normal" }, ` in ${visible(store)}`)),
    seen && h(DatasetsOf, { place: { store, source }, tell }));
}

/** The datasets of one source. */
export function DatasetsOf({ place: { store, source }, tell = /** @type {any} */ (null) }) {
  const live = useLive("datasets", { store, source }, () => PACE);
  useEffect(() => {
    if (live.data) tell?.(placeOf({ store, source }), live.data.datasets);
  }, [live.data, tell]);
  return h(Read, live, ({ kept, datasets, all_looked_at, groups, begun, planning, typed }, { now }) => {
    const bare = datasets.filter(({ summed }) => !summed);
    return h(Stack, { gap: 2 },
      h(Waiting, { begun, here: { store, source } }),
      datasets.length > 0 && h(Rows, { label: "Datasets", heads: ["Dataset", "Chunks", "Compacted", "Rows", "Files", "Bytes", "Of the time", "What is to say", "Looked at"],
        rows: datasets.map((one) => row(one, { store, source }, now)) }),
      !datasets.length && h(Text, { color: "fg.muted", fontSize: "sm" }, "Nothing was published here. A partition publishes when it completes or closes with output."),
      !all_looked_at && h(Text, { color: "fg.muted", fontSize: "sm" }, "Datasets of which there are no sums are looked for among the first 100 head records only."),
      bare.length > 0 && h(Unplanned, { kept, planning, names: bare.map(({ dataset }) => dataset) }),
      h(Groups, { groups }),
      datasets.length > bare.length && h(Command, { label: "The same as a command:", text: typed }));
  });
}

function row(one, here, now) {
  const name = h(To, { to: at({ ...here, dataset: one.dataset }) }, visible(one.dataset));
  if (!one.summed) return [one.dataset, name, "never planned", ...Array(5).fill(""), toSay(one).join(", "), ""];
  return [one.dataset, name, h(Box, null, h(Share, { chunks: one.chunks }), h(Text, { fontSize: "xs", color: "fg.muted" }, told(one))),
    h(Box, null, percent(one), h(Text, { fontSize: "xs", color: "fg.muted", whiteSpace: "nowrap" }, left(one))),
    h(Box, null, count(known(one).rows), h(Text, { fontSize: "xs", color: "fg.muted", whiteSpace: "nowrap" }, `of ${count(known(one).heads)} partitions`)),
    change(known(one).files_before, known(one).files_now, count), change(known(one).bytes_before, known(one).bytes_now, bytes),
    h(Text, { as: "span", whiteSpace: "nowrap" }, times(one)), toSay(one).join(", ") || h(Text, { color: "fg.muted" }, "nothing"), h(When, { at: one.updated_at, now })];
}

const left = (one) => (one.left_chunks ? `${sized(one)} left in ${count(one.left_chunks)} ${one.left_chunks === 1 ? "chunk" : "chunks"}` : "nothing left to merge");
const sized = ({ left_bytes: size, percent: part }) => (typeof part === "number" ? bytes(size) : "unknown");
const times = ({ first, last }) => (first ? `${first.slice(0, 10)} – ${last.slice(0, 10)}` : "no interval");

/** What a person may want to know of a dataset beside its numbers; nothing of one that is well. */
const toSay = ({ chunks, hidden, running }) => [[chunks["left out"], "left out"], [hidden, "hidden"], [running, "being merged now"]]
  .filter(([number]) => number).map(([number, what]) => `${count(number)} ${what}`);

/** Returns what is known of a dataset: where every sum is nothing, of its chunks nothing is known but that they are there. */
const known = (one) => (one.heads || one.rows || one.files_before || one.bytes_before ? one : {});

const percent = ({ percent: part }) => (typeof part === "number" ? `${Math.floor(part)} %` : "unknown");
const told = ({ chunks, whole }) => `${whole ? "" : "of the newest: "}${names(chunks).map((state) => `${chunks[state].toLocaleString()} ${visible(state)}`).join(", ")}`;
const names = (chunks) => [...STATES, ...Object.keys(chunks).filter((state) => !STATES.includes(state))].filter((state) => chunks[state]);

/** How many chunks are in each state, as a bar. */
function Share({ chunks }) {
  const found = names(chunks);
  const whole = found.reduce((sum, state) => sum + chunks[state], 0);
  return h(Box, { display: "flex", height: "8px", minWidth: "8rem", borderRadius: "sm", overflow: "hidden", bg: "bg.muted", role: "img",
    "aria-label": found.map((state) => `${chunks[state]} ${visible(state)}`).join(", ") || "empty" },
  found.map((state) => h(Box, { key: state, colorPalette: colourOf(state), bg: "colorPalette.solid", width: `${(100 * chunks[state]) / whole}%`, minWidth: "3px" })));
}

const Unplanned = ({ kept, planning, names: bare }) => h(Box, { as: "section", "aria-label": "Never planned", fontSize: "sm" },
  h(Text, null, kept
    ? `Of ${bare.map(visible).join(", ")} nothing more is known: its compaction was never planned. Readers take what partitions have published as it is.`
    : "This store keeps no sums of datasets, so that nothing more is known here."),
  kept && h(Command, { label: "This plans it, and writes down what is there:", text: planning }));

function Groups({ groups }) {
  if (!groups.length) return null;
  return h(Box, { as: "section", "aria-label": "Being merged", fontSize: "sm" }, h(Heading, { size: "xs", mb: 1 }, "Being merged now"),
    groups.map(({ key, dataset, chunk, owner, task, expired }) => h(HStack, { key, align: "start", wrap: "wrap" },
      h(Text, null, dataset ? `${visible(dataset)} ${visible(chunk ?? "")}` : h(Key, { text: key })), h(Text, null, expired ? "held, expired, by " : "by "), h(Who, { name: owner, task }))));
}

/** One dataset: what it adds up to, its chunks in time, and why each is or is not merged. */
export function Dataset({ place: { store, source, dataset, after } }) {
  const here = { store, source, dataset };
  const rules = useLive("rules", here, () => PACE);
  return h(Read, useLive("dataset", { ...here, after }, () => PACE), ({ kept, begun, summary, chunks, after: next, groups, settings, setting, planning, typed }, { now }) => h(Stack, { gap: 4 },
    h(Waiting, { begun, here: { store, source } }),
    !summary.summed && h(Unplanned, { kept, planning, names: [dataset] }),
    summary.summed && h(Sums, { summary, rules: rules.data, now }),
    chunks.length > 0 && h(Timeline, { chunks }),
    h(ViewOf, { key: dataset, here: { store, source }, dataset }),
    h(Box, { display: "grid", gap: 4, alignItems: "start", gridTemplateColumns: { base: "minmax(0, 1fr)", lg: "minmax(0, 2fr) minmax(0, 1fr)" } },
      h(Read, rules, (page, times) => h(Ruling, { page, here: { store, source }, dataset, now: times.now })),
      h(Settings, { settings, setting, now })),
    chunks.length > 0 && h(Rows, { label: "Chunks", heads: ["Chunk", "State", "Files", "Bytes", "Rows", "Why", "Looked at"], rows: chunks.map((one) => chunkRow(one, most(chunks), now)) }),
    h(HStack, null, after && h(To, { to: at(here) }, "Newest chunks"), next && h(To, { to: at({ ...here, after: next }) }, "Older chunks")),
    h(Groups, { groups }),
    summary.summed && h(Command, { label: "The same as a command:", text: typed })));
}

const StateOf = ({ state }) => h(Badge, { colorPalette: colourOf(state), variant: "subtle" }, visible(state));

const dead = ({ rows, dead_rows }) => `${count(rows)}${dead_rows ? `, ${count(dead_rows)} dead` : ""}`;

/** The most files and bytes that a chunk of a page has had. */
const most = (chunks) => ({ files: Math.max(1, ...chunks.map(({ files_before: number }) => number ?? 0)), bytes: Math.max(1, ...chunks.map(({ bytes_before: number }) => number ?? 0)) });

/** What was published as a frame, and what there is now as what fills it: beside it stand both as numbers. */
const Meter = ({ before, now, most: whole, children }) => h(Box, { whiteSpace: "nowrap" }, children, typeof before === "number" && h(Box, { "aria-hidden": true, "data-meter": `${before} ${now}`, height: "8px", borderWidth: 1, borderColor: "border.emphasized", borderRadius: "2px",
  minWidth: "3px", width: `${(80 * before) / whole}px` }, h(Box, { height: "100%", bgColor: colourOfState(now < before ? "completed" : "claimable"), width: `${Math.min(100, (100 * (now ?? before)) / Math.max(1, before))}%`, minWidth: "2px" })));

function chunkRow(one, whole, now) {
  const covered = one.uncovered_heads && one.state !== "fresh" ? ` (${count(one.uncovered_heads)} of ${count(one.heads)} partitions not)` : "";
  return [one.place, h(Text, { as: "span", whiteSpace: "nowrap" }, interval(one)), h(Text, { as: "span" }, h(StateOf, one), covered, aside(one).map((text) => h(Text, { key: text, as: "span" }, ", ", text))),
    h(Meter, { before: one.files_before, now: one.files_now, most: whole.files }, change(one.files_before, one.files_now, count)),
    h(Meter, { before: one.bytes_before, now: one.bytes_now, most: whole.bytes }, change(one.bytes_before, one.bytes_now, bytes)), dead(one),
    h(Text, { lineClamp: 3, wordBreak: "break-word" }, visible(one.reason ?? "")), h(When, { at: one.updated_at, now })];
}

/** The next change that rules make by themselves among the newest chunks. */
function ByARule({ rules, now }) {
  const first = firstChange(rules?.rules);
  return first ? h(When, { at: first.changes_at, now }) : rules ? (rules.ahead ? "never" : "not computed") : "…";
}

function Sums({ summary, rules, now }) {
  const { first, merged_at, running, whole } = summary;
  const { files_before, files_now, bytes_before, bytes_now, rows, dead_rows, heads } = known(summary);
  const facts = [
    ["compacted", percent(summary), told(summary)],
    ["files", count(files_now), `${count(files_before)} were published`],
    ["bytes", bytes(bytes_now), `${bytes(bytes_before)} were published`],
    [summary.hidden ? "rows, hidden ones too" : "rows that readers see", count(rows), `of ${count(heads)} partitions${dead_rows ? `; ${count(dead_rows)} dead rows` : ""}`, `${first ? `${times(summary)}` : "no interval"}${whole ? "" : "; only the newest chunks are added up"}`],
    ["left to merge", summary.left_chunks ? sized(summary) : "nothing", summary.left_chunks ? `in ${count(summary.left_chunks)} ${summary.left_chunks === 1 ? "chunk" : "chunks"}` : null,
      [running ? `${count(running)} being merged now; ` : "", merged_at ? ["merged ", h(When, { key: "merged", at: merged_at, now })] : "never merged"]],
    ["next change by a rule", h(ByARule, { rules, now }), visible(firstChange(rules?.rules)?.then[0] ?? "")],
  ];
  return h(Facts, { facts });
}

/** The chunks of a page in the order of time, each as wide as its interval; what has none stands behind a gap. */
function Timeline({ chunks }) {
  const timed = chunks.filter(({ start, end }) => start && end).toReversed();
  const without = chunks.filter(({ start }) => !start);
  const counts = names(Object.fromEntries(STATES.map((state) => [state, chunks.filter((one) => one.state === state).length])));
  const others = [...new Set(chunks.flatMap(aside))];
  const numbers = [...counts.map((state) => [state, (one) => one.state === state]), ...others.map((text) => [text, (one) => aside(one).includes(text)])];
  const label = numbers.map(([text, fits]) => `${chunks.filter(fits).length} ${text}`).join(", ");
  return h(Box, { as: "section", "aria-label": "Timeline" },
    h(HStack, { gap: 3, mb: 1, fontSize: "sm" }, counts.map((state) => h(StateOf, { key: state, state })), others.map((text) => h(BranchState, { key: text, state: text }))),
    h(Box, { display: "flex", gap: "2px", height: "22px", role: "img", "aria-label": `From the oldest on: ${label}` },
      [...timed, ...without].map((one) => h("i", { key: one.place, title: `${interval(one)}: ${[visible(one.state), ...aside(one)].join(", ")}${one.reason ? ` – ${visible(one.reason)}` : ""}`, "data-state": one.state, "data-aside": aside(one).join(", "),
        style: { flexGrow: one.start ? Math.max(1, (Date.parse(one.end) - Date.parse(one.start)) / 3_600_000) : 24, flexBasis: 3, minWidth: 3, borderRadius: 2,
          marginLeft: one.start ? 0 : 12, ...marked(one, colourOf(one.state)) } }))),
    timed.length > 0 && h(HStack, { justify: "space-between", fontSize: "sm", color: "fg.muted" }, h(Text, null, timed[0].start.slice(0, 10)), h(Text, null, timed[timed.length - 1].end.slice(0, 10))));
}
