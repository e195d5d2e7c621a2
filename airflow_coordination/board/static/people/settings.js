// What people and duties have set: who changed which document when and why, with what it was before folded out on a click.

import { clock } from "../charts/bars.js";
import { Command, To, When, at, h, visible } from "../parts.js";
import { Glyph } from "../states.js";

const { useId, useState } = globalThis.React;
const { Box, Button, Heading, HStack, Text } = globalThis.ChakraUI;

const HEADS = ["When", "Who", "What", "Of", "Why", "What changed"];

/** The mark of a change in the lane of who made it. */
export const markOf = ({ at: moment, by, what, version }) => ({ at: moment, by, of: "person", text: `${by}: set ${what}, version ${version}` });

/** Says that no person did it. */
export const ADuty = ({ duty }) => (duty ? h(Text, { color: "fg.muted", fontSize: "xs" }, "duty") : null);

export function Settings({ page: { changes, documents, since, sources, all_sources: all, unread, typed }, here, narrowed, now }) {
  return h(Box, { as: "section", "aria-label": "Settings and rules" }, h(Heading, { as: "h2", size: "sm", mb: 1 }, "Settings and rules"),
    changes.length > 0 ? h(Box, { overflowX: "auto", role: "region", "aria-label": "Settings and rules, in lines", tabIndex: 0, borderWidth: 1, borderRadius: "md" },
      h(Box, { as: "table", width: "100%", fontSize: "13px", borderCollapse: "collapse", css: { "& th, & td": { padding: "6px 12px", textAlign: "left", verticalAlign: "top" } } },
        h("thead", null, h(Box, { as: "tr", color: "fg.muted", fontSize: "12px" }, HEADS.map((head) => h("th", { key: head, scope: "col" }, head)))),
        h("tbody", null, changes.map((one) => h(Line, { key: `${one.source} ${one.document} ${one.version}`, one, here, narrowed, now })))))
      : h(Text, { color: "fg.muted" }, documents ? "Nothing of it matches." : "Nobody has set anything here."),
    h(Text, { color: "fg.muted", fontSize: "sm" }, `Of ${documents.toLocaleString()} ${documents === 1 ? "document" : "documents"}${here.source ? "" : ` of ${all ? "all" : "the first"} ${sources.toLocaleString()} sources`}. `,
      since ? h("b", null, `It ends here: what was set ${new Date(since).toLocaleString()} or before is not among these lines. `) : unread.length > 0 ? "" : narrowed.within ? "What was set before that was not asked for. " : all ? "These are all that are kept. " : "These are all that are kept of them. ", "The versions of one document lead on."),
    unread.length > 0 && h(Unread, { unread, here, narrowed }),
    typed && h(Command, { label: "The same as a command:", text: typed }));
}

/** The sources of whose documents only the first by name were read, or none; each leads to more of them. */
function Unread({ unread, here, narrowed }) {
  if (here.source) return h(Text, { role: "note", fontSize: "sm" }, "There are more documents than were read: these are the first by name.");
  return h(Text, { role: "note", fontSize: "sm" }, "There are more documents than were read, of ", unread.map(({ source, name }, place) => [place > 0 && ", ", h(To, { key: source, to: at({ ...here, ...narrowed, source }) }, name === null ? "all sources" : visible(name))]), ".");
}

function Line({ one, here, narrowed, now }) {
  const { source, name, document, what, version, at: moment, by, why } = one;
  const [open, setOpen] = useState(false);
  const told = useId();
  const older = at({ ...here, source, document, before: version });
  return h(Box, { as: "tr", borderTopWidth: 1 },
    h(Box, { as: "td", whiteSpace: "nowrap" }, clock(moment), h(Text, { color: "fg.muted", fontSize: "xs" }, h(When, { at: moment, now }))),
    h("td", null, h(Text, { as: "span", fontWeight: "semibold" }, h(To, { to: at({ ...here, ...narrowed, by }) }, visible(by))), h(ADuty, one)),
    h("td", null, h(HStack, { gap: "6px", alignItems: "start" }, h(Glyph, { of: "person" }), h(Text, { as: "span", fontWeight: "semibold", wordBreak: "break-word" }, visible(`set ${what}, version ${version}`)))),
    h("td", null, name === null ? "all sources" : h(To, { to: at({ store: here.store, source }) }, visible(name))),
    h(Box, { as: "td", minWidth: "160px", wordBreak: "break-word" }, `“${visible(why)}”`),
    h(Box, { as: "td", minWidth: "220px" }, h(Button, { size: "2xs", variant: "outline", "aria-expanded": open, "aria-controls": told, onClick: () => setOpen(!open) }, summary(one)),
      h(Box, { id: told }, open && h(Unfolded, { one, older }))));
}

const summary = ({ differences, more }) => {
  if (differences === null) return "not known";
  const number = differences.length + more;
  return number === 1 ? visible(differences[0].key || "all of it") : `${number.toLocaleString()} ${number ? "values" : "values: nothing"}`;
};

const Value = ({ text }) => (text === null ? h(Text, { as: "span", color: "fg.muted" }, "nothing") : h(Text, { as: "code", fontFamily: "mono", wordBreak: "break-word" }, visible(text)));

/** What was said before, and what is said now, value by value. */
const Unfolded = ({ one: { differences, more, version, typed }, older }) => h(Box, { mt: 1 },
  differences === null ? h(Text, null, "The version before is not kept any more, or one of both is no JSON.")
    : differences.map(({ key, old, new: next }, place) => h(Box, { key: place, mb: 1 }, h(Text, { as: "code", fontFamily: "mono", fontSize: "12px", wordBreak: "break-word" }, visible(key)), h(Text, null, h(Box, { as: "del", color: "fg.muted" }, h(Value, { text: old })), " → ", h(Box, { as: "ins", textDecoration: "none" }, h(Value, { text: next }))))),
  more > 0 && h(Text, { color: "fg.muted" }, `and ${more.toLocaleString()} more`),
  version > 1 && h(To, { to: older }, "Its versions before this"),
  typed && h(Command, { label: "All of them:", text: typed }));
