// Holding a whole source back, and letting it go on: tried first, as it was seen then.

import { post } from "./api.js";
import { Field, named, useWork } from "./forms.js";
import { Command, Problem, h, visible } from "./parts.js";

const { useState } = globalThis.React;
const { Box, Button, HStack, Stack, Text } = globalThis.ChakraUI;

/** Offers the one of the two that the server says the user may choose; the result stays when the other is offered. */
export function Pausing({ offer, here }) {
  const [chosen, choose] = useState(null);
  if (!chosen) return h(Box, null, h(Button, { size: "xs", variant: "outline", title: offer.does, onClick: () => choose(offer) }, `${named(offer.action)} source`));
  return h(Form, { ...chosen, here, close: () => choose(null) });
}

function Form({ action, does, typed, here, close }) {
  const [why, setWhy] = useState("");
  const [minutes, setMinutes] = useState("");
  const { state: { busy, found, result, problem }, set, run, clear } = useWork();
  const asked = { ...here, paused: action === "pause" };
  const dryRun = (event) => {
    event.preventDefault();
    clear();
    run(async () => set({ found: await post("pause/dry-run", asked) }));
  };
  const goOn = () => run(async () => set({ result: await post("pause", { ...asked, why, stamp: found.stamp, ...(minutes && { minutes: Number(minutes) }) }) }));
  return h(Stack, { as: "section", "aria-label": `${named(action)} source`, borderWidth: 1, borderRadius: "md", p: 3, gap: 3, "aria-busy": Boolean(busy) },
    h(Text, null, `${does}.`),
    h(Command, { label: "The same as a command:", text: typed }),
    h("form", { onSubmit: dryRun }, h(HStack, { wrap: "wrap", alignItems: "end" },
      h(Field, { label: "Why (kept with the source)", value: why, set: setWhy, required: true }),
      action === "pause" && h(Field, { label: "Minutes (empty: until it is resumed)", value: minutes, set: setMinutes }),
      h(Button, { size: "sm", type: "submit", variant: "outline", disabled: busy }, "Dry run"),
      h(Button, { size: "sm", variant: "ghost", onClick: close }, "Close"))),
    h(Box, { "aria-live": "polite" },
      found && h(Text, null, visible(found.sentence)),
      found?.refusal && h(Problem, null, visible(found.refusal)),
      found && !found.refusal && !result &&
        h(Button, { size: "sm", mt: 2, colorPalette: "brand", disabled: busy || !why.trim(), onClick: goOn }, `${named(action)} this source`),
      result && h(result.done ? Text : Problem, result.done ? { fontWeight: "bold", role: "status" } : null, visible(result.sentence)),
      problem && h(Problem, { login: problem.login }, problem.message)));
}
