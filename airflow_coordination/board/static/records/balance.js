// What became of a partition's records: a bar and the sum that must balance, then what each sink was owed.

import { Rows, h, visible } from "../parts.js";
import { Glyph, PATTERNS, colourOf, paletteOf } from "../states.js";

const { Box, HStack, Heading, Stack, Table, Text } = globalThis.ChakraUI;

/** What records may have become, in the order of the bar, each in the colour of a state. */
const BECAME = /** @type {[string, string][]} */ ([["delivered everywhere", "completed"], ["dropped", "paused"], ["unrouted", "claimable"], ["dead-lettered", "delayed"], ["failed", "parked"]]);
const SINK = ["owed", "delivered", "dead-lettered", "failed"];
const DROPPED = "dropped: ";

/** `lines` are the counts, `wrong` says in words which sums do not balance. */
export function Records({ lines, wrong }) {
  const whole = lines.filter(({ sink }) => sink === null);
  const read = whole.find(({ count }) => count === "read");
  const parts = BECAME.map(([word, of]) => ({ word, of, number: sum(whole.filter(({ count }) => count === word || (word === "dropped" && count.startsWith(DROPPED)))) }));
  const others = whole.filter(({ count }) => count.startsWith(DROPPED) || !(count === "read" || BECAME.some(([word]) => word === count)));
  return h(Box, { as: "section", "aria-label": "Records" },
    h(HStack, { justify: "space-between", mb: 1 }, h(Heading, { size: "sm" }, "Records"), read && wrong.length === 0 && h(Said, { of: "completed" }, "they balance")),
    h(Stack, { gap: 2 }, wrong.map((sentence) => h(Said, { key: sentence, of: "parked" }, visible(sentence))),
      read && h(Bar, { parts, read: read.records }), read && h(Sum, { parts, read: read.records }),
      h(Sinks, { lines: lines.filter(({ sink }) => sink !== null) }),
      others.length > 0 && h(Rows, { heads: ["Records", "How many"], rows: others.map(({ count, records }) => [count, visible(count), records?.toLocaleString()]) })));
}

const sum = (lines) => lines.reduce((all, { records }) => all + records, 0);
const total = (parts) => parts.reduce((all, { number }) => all + number, 0);

const Said = ({ of, children }) => h(HStack, { gap: 1, align: "start", fontSize: "sm", colorPalette: paletteOf(of), color: "colorPalette.fg", fontWeight: "medium", wordBreak: "break-word" },
  h(Box, { mt: "4px", lineHeight: 0 }, h(Glyph, { of })), h("span", null, children));

/** What became of how large a part; of records that are nowhere its end is empty. */
function Bar({ parts, read }) {
  const some = parts.filter(({ number }) => number);
  const told = total(parts);
  return h(Box, { display: "flex", gap: "1px", height: "12px", borderRadius: "sm", overflow: "hidden", bg: "bg.muted", role: "img", "aria-label": `Of ${read.toLocaleString()} records: ${some.map(({ word, number }) => `${number.toLocaleString()} ${word}`).join(", ") || "nothing is known"}` },
    some.map(({ word, of, number }) => h(Box, { key: word, "data-part": word, title: `${number.toLocaleString()} ${word}`, bgColor: colourOf(of), backgroundImage: PATTERNS[of], flex: `${number} 1 0`, minWidth: "6px" })),
    told < read && h(Box, { "data-part": "nowhere", flex: `${read - told} 1 0`, minWidth: "6px" }));
}

/** The sum as it is written. */
const Sum = ({ parts, read }) => h(HStack, { wrap: "wrap", columnGap: 4, rowGap: 1, fontVariantNumeric: "tabular-nums" }, h(Term, { word: "read", number: read }),
  parts.map(({ word, of, number }, place) => h(HStack, { key: word, gap: 4 }, h(Text, { as: "span", color: "fg.muted" }, place ? "+" : total(parts) === read ? "=" : "≠"), h(Term, { word, of, number }))));

const Term = ({ word, number, of = /** @type {string | null} */ (null) }) => h(Box, null,
  h(HStack, { gap: 1, fontSize: "xs", color: "fg.muted" }, of && h(Box, { as: "i", width: "10px", height: "10px", borderRadius: "2px", bgColor: colourOf(of), backgroundImage: PATTERNS[of], "aria-hidden": true }), word),
  h(Text, { fontWeight: "semibold" }, number.toLocaleString()));

/** What each sink was owed, and what became of it. */
function Sinks({ lines }) {
  const names = [...new Set(lines.map(({ sink }) => sink))];
  if (!names.length) return null;
  const of = (name) => SINK.map((word) => lines.find(({ sink, count }) => sink === name && count === word)?.records ?? 0);
  const right = { textAlign: "end", fontVariantNumeric: "tabular-nums" };
  return h(Box, { overflowX: "auto", role: "region", "aria-label": "Records of each sink", tabIndex: 0 }, h(Table.Root, { size: "sm" },
    h(Table.Header, null, h(Table.Row, null, h(Table.ColumnHeader, null, "Sink"), [...SINK, "balances"].map((word) => h(Table.ColumnHeader, { key: word, ...right }, word)))),
    h(Table.Body, null, names.map((name) => h(Table.Row, { key: name }, h(Table.Cell, null, visible(name)), of(name).map((number, place) => h(Table.Cell, { key: place, ...right }, number.toLocaleString())), h(Table.Cell, right, h(Verdict, { numbers: of(name) })))))));
}

function Verdict({ numbers: [owed, ...became] }) {
  const balances = owed === became.reduce((all, number) => all + number, 0);
  return h(Box, { as: "span", display: "inline-flex", alignItems: "center", gap: 1, colorPalette: paletteOf(balances ? "completed" : "parked"), color: "colorPalette.fg" }, h(Glyph, { of: balances ? "completed" : "parked" }), balances ? "yes" : "no");
}
