// What became of the records of a whole source: added up when somebody asks, and then of its dead letters, in portions.

import { read } from "../api.js";
import { useWork } from "../forms.js";
import { Command, Problem, Rows, h, visible } from "../parts.js";

const { Box, Button, Text } = globalThis.ChakraUI;

const STILL = "dead letters: still set aside";
const VOID = "void: delivered again before the dead letters were replaced";

/** Adds up when somebody asks: that reads every partition, and each that delivers dead letters again. */
export function Accounting({ here }) {
  const { state: { busy, found, again, problem }, set, run, clear, waits } = useWork();
  const ask = () => {
    clear();
    run(async () => {
      const { data } = await read("accounting", here);
      set({ found: data });
      if (data.dead_lettered) await letters(here, set, waits);
    });
  };
  return h(Box, { as: "section", "aria-label": "Accounting", fontSize: "sm", "aria-busy": Boolean(busy) },
    h(Button, { size: "xs", variant: "outline", disabled: busy, onClick: ask }, busy ? "Adding up …" : "Add up the accounting"),
    problem && h(Problem, { login: problem.login }, problem.message),
    h(Box, { "aria-live": "polite" },
      found && h(Text, null, found.partitions ? `of ${found.partitions.toLocaleString()} partitions` : "Nothing of this source was counted."),
      found?.accounting.length > 0 && h(Rows, { heads: ["Records", "Sink", "How many"], label: "Accounting, in lines", rows: [...found.accounting, ...balance(found, again)].map((one) => [`${one.count} ${one.sink}`, visible(one.count), visible(one.sink ?? ""), one.records]) }),
      again && h(Text, { color: "fg.muted" }, covered(again))),
    found && h(Command, { label: "The same as a command:", text: found.typed }));
}

/** Reads portion by portion, and tells of each; nobody looks any more, and it stops. */
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
  const found = new Map(some.map((one) => [one.count, one]));
  for (const one of others) found.set(one.count, { ...one, records: one.records + (found.get(one.count)?.records ?? 0) });
  return [...found.values()];
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
