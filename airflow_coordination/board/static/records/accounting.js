// What became of the records of a whole source: added up when somebody asks, and then of its dead letters, in portions.

import { read } from "../api.js";
import { useWork } from "../forms.js";
import { Command, Problem, Rows, h, visible } from "../parts.js";

const { Box, Button, Text } = globalThis.ChakraUI;

const STILL = "dead letters: still set aside";
const VOID = "void: delivered again before the dead letters were replaced";

/** Adds up when somebody asks, in portions: of every partition, and of each that delivers dead letters again. */
export function Accounting({ here }) {
  const { state: { busy, found, again, problem }, set, run, clear, waits } = useWork();
  const ask = () => {
    clear();
    run(async () => {
      const found = await counted(here, set, waits);
      if (found.dead_lettered) await letters(here, set, waits);
    });
  };
  return h(Box, { as: "section", "aria-label": "Accounting", fontSize: "sm", "aria-busy": Boolean(busy) },
    h(Button, { size: "xs", variant: "outline", disabled: busy, onClick: ask }, busy ? "Adding up …" : "Add up the accounting"),
    problem && h(Problem, { login: problem.login }, problem.message),
    h(Box, { "aria-live": "polite" },
      found && h(Text, null, told(found)),
      found?.accounting.length > 0 && h(Rows, { heads: ["Records", "Sink", "How many"], label: "Accounting, in lines", rows: [...found.accounting, ...balance(found, again)].map((one) => [`${one.count} ${one.sink}`, visible(one.count), visible(one.sink ?? ""), one.records]) }),
      again && h(Text, { color: "fg.muted" }, covered(again))),
    found && h(Command, { label: "The same as a command:", text: found.typed }));
}

/** Adds up portion by portion, and tells of each; nobody looks any more, and it stops. */
async function counted(here, set, waits) {
  /** @type {any} */
  let sum = { partitions: 0, dead_lettered: 0, accounting: [], after: undefined };
  do {
    const { data } = await read("accounting", { ...here, after: sum.after });
    sum = { partitions: sum.partitions + data.partitions, dead_lettered: sum.dead_lettered + data.dead_lettered, accounting: added(sum.accounting, data.accounting), typed: data.typed, after: data.after };
    set({ found: sum });
  } while (sum.after && waits());
  return sum;
}

/** The same of dead letters that are delivered again. */
async function letters(here, set, waits) {
  /** @type {any} */
  let sum = { partitions: 0, done: 0, void: 0, counts: [], after: undefined };
  do {
    const { data } = await read("accounting/again", { ...here, after: sum.after });
    sum = { partitions: sum.partitions + data.partitions, done: sum.done + data.done, void: sum.void + data.void, counts: added(sum.counts, data.counts), after: data.after };
    set({ again: sum });
  } while (sum.after && waits());
}

function added(some, others) {
  const name = (one) => JSON.stringify([one.count, one.sink]);
  const found = new Map(some.map((one) => [name(one), one]));
  for (const one of others) found.set(name(one), { ...one, records: one.records + (found.get(name(one))?.records ?? 0) });
  return [...found.values()];
}

/** Of how many partitions the counts are. */
function told({ partitions, after }) {
  if (after) return `of ${partitions.toLocaleString()} partitions; the others are being read …`;
  return partitions ? `of ${partitions.toLocaleString()} partitions` : "Nothing of this source was counted.";
}

/** Behind the counts: what the dead letters among them have become. Only the whole says how many are set aside still. */
function balance({ dead_lettered: counted }, again) {
  if (!again?.partitions) return [];
  const end = again.after ? [] : [{ count: STILL, sink: null, records: counted - again.done }];
  return [...again.counts, ...end, ...(again.void ? [{ count: VOID, sink: null, records: again.void }] : [])];
}

/** What the balance is of. */
function covered({ partitions, after }) {
  if (!partitions) return "Nobody delivers its dead letters again.";
  const number = `${partitions.toLocaleString()} ${partitions === 1 ? "partition delivers" : "partitions deliver"}`;
  return after ? `Dead letters: of the first ${number} them again; the others are being read …` : `Dead letters: all ${number} them again; what has completed is counted.`;
}
