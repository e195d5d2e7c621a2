// A lane for each person: what they did, and when; inline SVG. The lines below it say the same, so nothing in it is reached by keys.

import { h, visible } from "../parts.js";
import { Shape, colourOf } from "../states.js";
import { clock, useWidth } from "./bars.js";

const { Box, Heading, HStack, Text } = globalThis.ChakraUI;

const MOST = 8; // lanes: of more people those who did most of late
const STEP = 24; // pixels of a lane
const NAME = 120; // of the names beside them
const FOOT = 20;
const MARGIN = 14;
const ROUND = 11; // the radius around a shape
const SMALL = { fontSize: "11px" };
const NAMED = { fontSize: "12px" };
const HOUR = 3_600_000; // milliseconds
const APART = [1, 2, 3, 6, 12, 24, 48, 168, 720, 8760]; // hours between two that are named

/** Draws `deeds` ([{ at, by, of, text }]) from the first of them to `now`. */
export function Lanes({ deeds, now }) {
  const { place, width } = useWidth();
  const people = [...new Set(deeds.map(({ by }) => by))];
  const shown = people.slice(0, MOST);
  const end = Date.parse(now);
  const first = Math.min(end - HOUR, ...deeds.map(({ at }) => Date.parse(at)));
  const tall = shown.length * STEP + FOOT;
  const label = shown.map((who) => `${who}: ${deeds.filter(({ by }) => by === who).map(({ text, at }) => `${text.slice(who.length + 2)} at ${clock(at)}`).join(", ")}`).join("; ");
  return h(Box, { as: "section", "aria-label": "Who did what when", borderWidth: 1, borderRadius: "md", px: "14px", py: 2 },
    h(HStack, { justify: "space-between" }, h(Heading, { as: "h2", size: "sm" }, lasted(end - first)),
      h(Text, { color: "fg.muted", fontSize: "xs" }, `${deeds.length} by ${people.length === 1 ? "one" : people.length}${people.length > MOST ? `; the lanes of ${MOST} of them` : ""}`)),
    h(Box, { ref: place, height: `${tall}px` }, width > 0 && h(Box, { as: "svg", width: "100%", height: `${tall}px`, role: "img", "aria-label": visible(label), color: "fg.muted" },
      h(Drawing, { deeds, shown, first, end, width, tall }))));
}

/** How far back it reaches. */
function lasted(milliseconds) {
  const hours = Math.max(1, Math.round(milliseconds / HOUR));
  return hours === 1 ? "Last hour" : hours <= 48 ? `Last ${hours} hours` : `Last ${Math.round(hours / 24)} days`;
}

function Drawing({ deeds, shown, first, end, width, tall }) {
  const x = (moment) => NAME + ((width - NAME - MARGIN) * (moment - first)) / (end - first);
  const y = (by) => shown.indexOf(by) * STEP + STEP / 2;
  return [h(Times, { key: "times", first, end, x, tall, width }), ...shown.map((who) => h("g", { key: who, "data-lane": visible(who) },
    h("line", { x1: NAME, x2: width, y1: y(who), y2: y(who), stroke: "currentColor", strokeOpacity: 0.2 }), h("text", { x: 0, y: y(who) + 4, fill: "currentColor", style: NAMED }, h("title", null, visible(who)), short(visible(who))),
    deeds.filter(({ by }) => by === who).toReversed().map(({ at, of, text }, place) => h(Mark, { key: `${place} ${at}`, x: x(Date.parse(at)), y: y(who), of, text: `${clock(at)} ${text}` }))))];
}

const short = (name) => (name.length > 17 ? `${name.slice(0, 16)}…` : name);

const Mark = ({ x, y, of, text }) => h(Box, { as: "g", color: colourOf(of) }, h("title", null, visible(text)), h("circle", { cx: x, cy: y, r: ROUND, stroke: "currentColor", style: { fill: "var(--chakra-colors-bg-panel)" } }),
  h("g", { transform: `translate(${x - 6} ${y - 6})`, stroke: "currentColor" }, h(Shape, { of })));

/** The hours, or days, that have room. */
function Times({ first, end, x, tall, width }) {
  const room = Math.max(1, Math.floor((width - NAME) / 90));
  const apart = APART.find((hours) => (end - first) / (hours * HOUR) <= room) ?? 8760;
  const begin = new Date(first);
  begin.setMinutes(0, 0, 0);
  if (apart >= 24) begin.setHours(0);
  const told = Array.from({ length: room + 2 }, (_, place) => begin.getTime() + place * apart * HOUR).filter((moment) => moment >= first && moment <= end && x(moment) < width - 40);
  const words = (moment) => (apart >= 24 ? new Date(moment).toLocaleDateString([], { day: "numeric", month: "short" }) : clock(moment));
  return h("g", { "data-axis": "time" }, told.map((moment) => h("g", { key: moment }, h("line", { x1: x(moment), x2: x(moment), y1: 0, y2: tall - FOOT, stroke: "currentColor", strokeOpacity: 0.2 }),
    h("text", { x: x(moment), y: tall - 5, textAnchor: "middle", fill: "currentColor", style: SMALL }, words(moment)))), h("text", { x: width - 2, y: tall - 5, textAnchor: "end", fill: "currentColor", style: SMALL }, "now"));
}
