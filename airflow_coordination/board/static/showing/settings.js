// How a dataset is compacted, as somebody has said: who, when, why, and what.

import { Command, When, h, visible } from "../parts.js";

const { Box, HStack, Heading, Text } = globalThis.ChakraUI;

export const Settings = ({ settings, setting, now }) => h(Box, { as: "section", "aria-label": "Compaction", borderWidth: 1, borderRadius: "md", p: 3 },
  h(HStack, { justify: "space-between", wrap: "wrap", mb: 2 }, h(Heading, { as: "h2", size: "sm" }, "Compaction"),
    settings && h(Text, { fontSize: "sm", color: "fg.muted" }, `version ${settings.version} by ${visible(settings.author)} `, h(When, { at: settings.at, now }))),
  settings ? h(Box, null, h(Box, { as: "pre", fontFamily: "mono", fontSize: "sm", whiteSpace: "pre-wrap", wordBreak: "break-word" }, lines(settings.content)), h(Text, { fontSize: "sm", color: "fg.muted", mt: 1, wordBreak: "break-word" }, `“${visible(settings.why)}”`))
    : h(Text, { color: "fg.muted" }, "Nobody has said how: it is merged as it was last, if ever."),
  h(Command, { label: "This changes it:", text: setting }));

/** The same JSON, line by line; as it is where it is none. */
function lines(content) {
  try {
    return JSON.stringify(JSON.parse(content), null, 2).split("\n").map(visible).join("\n");
  } catch {
    return visible(content);
  }
}
