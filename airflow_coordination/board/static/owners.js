// Who holds what in a source, since when, and for how much longer.

import { useLive } from "./api.js";
import { InBranch } from "./branches.js";
import { Glyph } from "./states.js";
import { Empty, Key, Read, Rows, Spark, To, When, Who, at, h } from "./parts.js";

const { Box, HStack, Stack, Text } = globalThis.ChakraUI;

export function Owners({ place }) {
  const { store, source, after } = place;
  const here = { store, source };
  return h(Read, useLive("owners", { ...here, after }), ({ held, after: next }, { now }) => h(Stack, null,
    held.length
      ? h(Rows, { heads: ["Key", "Held by", "Since", "Last heard of", "Lease", "Spark"], rows: held.map((one) => row(one, now, here)) })
      : h(Empty, null, "Nobody holds a partition of this source."),
    h(HStack, null,
      after && h(To, { to: at({ ...here, view: "owners" }) }, "First page"),
      next && h(To, { to: at({ ...here, view: "owners", after: next }) }, "Next page"))));
}

const row = (one, now, here) => [
  one.key,
  h(Box, null, h(To, { to: at({ ...here, key: one.key }) }, h(Key, { text: one.key })), h(InBranch, { branch: one.branch, here })),
  h(Who, { name: one.owner, task: one.task }),
  one.since ? h(When, { at: one.since, now }) : one.wrote_at && h("span", null, "before ", h(When, { at: one.wrote_at, now })),
  one.silent ? h(HStack, { gap: 1, color: "fg.warning" }, h(Glyph, { of: "silent" }), h("span", null, "no sign since ", h(When, { at: one.sign_at, now })))
    : one.sign_at ? h(When, { at: one.sign_at, now }) : one.heard ? h(When, { at: one.wrote_at, now }) : "not yet",
  h(Lease, { ...one, now }),
  h(Spark, one),
];

const Lease = ({ expires_at, expired, late, now }) => (!expires_at ? "has no end"
  : h(Text, { as: "span", color: expired ? "fg.error" : late ? "fg.warning" : undefined }, expired ? "ended " : late ? "in grace until " : "ends ", h(When, { at: expires_at, now })));
