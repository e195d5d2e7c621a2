// The seven states that never overlap: each has a word, a shape and a colour, and its place in a bar.

import { h, visible } from "./parts.js";

const { Fragment } = globalThis.React;
const { Box, HStack } = globalThis.ChakraUI;

export const WORDS = ["claimable", "held", "expired", "delayed", "blocked", "parked", "completed"];
export const DRAWN = ["completed", "held", "expired", "parked", "blocked", "delayed", "claimable"]; // from the left of a bar

const BEFORE = Object.assign(Object.create(null), { BLOCKED: "blocked", PARKED: "parked", COMPLETED: "completed" });

/** The word of a state that an address of the version before names, where one means the same. */
export const wordOf = (/** @type {string | undefined} */ state) => BEFORE[state ?? ""] ?? state;

/** Which of Airflow's palettes says it in text, and which colours a shape has: 3 : 1 and more on white and on dark. */
const PALETTES = Object.assign(Object.create(null), { claimable: "scheduled", held: "running", expired: "restarting", delayed: "up_for_retry", blocked: "upstream_failed",
  parked: "failed", completed: "success", silent: "up_for_retry", paused: "scheduled" });
const SOLID = Object.assign(Object.create(null), {
  claimable: ["oklch(0.60 0.016 262)", "oklch(0.62 0.02 262)"],
  held: ["oklch(0.58 0.12 225)", "oklch(0.68 0.125 220)"],
  expired: ["oklch(0.541 0.25 293)", "oklch(0.68 0.18 293)"],
  delayed: ["oklch(0.64 0.14 75)", "oklch(0.76 0.145 82)"],
  blocked: ["oklch(0.60 0.185 42)", "oklch(0.70 0.165 50)"],
  parked: ["oklch(0.56 0.225 27)", "oklch(0.66 0.20 25)"],
  completed: ["oklch(0.50 0.15 149)", "oklch(0.64 0.165 150)"],
  silent: ["oklch(0.64 0.14 75)", "oklch(0.76 0.145 82)"],
  paused: ["oklch(0.45 0.055 251)", "oklch(0.74 0.04 252)"],
});
export const paletteOf = (word) => PALETTES[word] ?? "deferred";
export const colourOf = (word) => {
  const [base, _dark] = SOLID[word] ?? SOLID.claimable;
  return { base, _dark };
};

const ring = { cx: 6, cy: 6, r: 4.4, fill: "none", strokeWidth: 1.6 };
const full = { fill: "currentColor", stroke: "none" };
/** @type {Record<string, [string, Record<string, unknown>][]>} */
const SHAPES = Object.assign(Object.create(null), {
  claimable: [["circle", ring]],
  held: [["path", { d: "M2.5 1.5 11 6l-8.5 4.5z", ...full }]],
  expired: [["circle", { ...ring, strokeDasharray: "3 2" }], ["path", { d: "M6 3.6V6.4", strokeWidth: 1.5 }], ["circle", { cx: 6, cy: 8.3, r: 0.9, ...full }]],
  delayed: [["circle", ring], ["path", { d: "M6 3.2V6l2 1.4", fill: "none", strokeWidth: 1.4 }]],
  blocked: [["circle", ring], ["path", { d: "M2.9 9.1 9.1 2.9", strokeWidth: 1.6 }]],
  parked: [["path", { d: "M3.7.8h4.6l2.9 2.9v4.6l-2.9 2.9H3.7L.8 8.3V3.7z", ...full }], ["path", { d: "M4 4l4 4M8 4 4 8", stroke: "#fff", strokeWidth: 1.5 }]],
  completed: [["path", { d: "M1.5 6.4 4.6 9.5 10.6 2.8", fill: "none", strokeWidth: 2 }]],
  paused: [["path", { d: "M3 2h2.2v8H3zM6.8 2H9v8H6.8z", ...full }]],
  person: [["circle", { cx: 6, cy: 3.4, r: 2.3, ...full }], ["path", { d: "M1.6 11.2C2 8.4 3.6 6.9 6 6.9s4 1.5 4.4 4.3z", ...full }]],
  silent: [["path", { d: "M1 6h2l1.2-3.4L6 9", fill: "none", strokeWidth: 1.5 }], ["path", { d: "M6.8 6H11", strokeDasharray: "1.4 1.6", strokeWidth: 1.5 }]],
});

/** The shape of a state; beside it stands its word or its number, so that it says nothing to who does not see it. */
export const Glyph = ({ of, size = 12 }) => h(Box, { as: "svg", viewBox: "0 0 12 12", width: `${size}px`, height: `${size}px`, flex: "none", display: "inline-block",
  color: colourOf(of), stroke: "currentColor", "aria-hidden": true }, h(Shape, { of }));

/** The same inside of a drawing, twelve units wide and high. */
export const Shape = ({ of }) => h(Fragment, null, (SHAPES[of] ?? SHAPES.claimable).map(([tag, props], place) => h(tag, { key: place, ...props })));

export const Word = ({ of, count = /** @type {number | undefined} */ (undefined) }) => h(HStack, { as: "span", display: "inline-flex", gap: 1, colorPalette: paletteOf(of), bg: "colorPalette.subtle", color: "colorPalette.fg",
  borderRadius: "full", px: 2, fontSize: "xs", fontWeight: "medium", lineHeight: "18px", whiteSpace: "nowrap" }, h(Glyph, { of }), count === undefined ? visible(of) : `${count.toLocaleString()} ${of}`);

export const PATTERNS = Object.assign(Object.create(null), {
  parked: "repeating-linear-gradient(135deg, transparent 0 3px, rgba(255, 255, 255, 0.45) 3px 5px)",
  expired: "repeating-linear-gradient(90deg, transparent 0 3px, rgba(255, 255, 255, 0.55) 3px 5px)",
});

/** Shows the part of each state, in an order that never changes; a part that exists can be seen. */
export function Parts({ counts, height = "8px" }) {
  const parts = DRAWN.filter((word) => counts[word]);
  const label = parts.map((word) => `${counts[word].toLocaleString()} ${word}`).join(", ") || "empty";
  return h(Box, { display: "flex", gap: "1px", height, minWidth: "60px", borderRadius: "sm", overflow: "hidden", bg: "bg.muted", role: "img", "aria-label": label, title: label },
    parts.map((word) => h(Box, { key: word, bgColor: colourOf(word), backgroundImage: PATTERNS[word], opacity: word === "claimable" ? 0.62 : 1, flex: `${counts[word]} 1 0`, minWidth: "3px" })));
}

export const whole = (counts) => WORDS.reduce((sum, word) => sum + (counts[word] ?? 0), 0);
