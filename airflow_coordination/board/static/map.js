// The map of a source, for people who would rather look than read: a tile for each partition, coloured by its state;
// and where in the keys what is, as bars of about as many keys each, which lead to exactly those.

import { read, useLive } from "./api.js";
import { Empty, Key, Problem, To, When, at, h, visible } from "./parts.js";
import { DRAWN, PATTERNS, WORDS, Word, colourOf, paletteOf, whole, wordOf } from "./states.js";

const { useEffect, useRef, useState } = globalThis.React;
const { Box, HStack, Heading, Spinner, Stack, Text } = globalThis.ChakraUI;
const { Link: RouterLink, useNavigate } = globalThis.ReactRouterDOM;

const MOST = 5000; // tiles at once
const PACE = 10_000; // milliseconds after the last part before the first one is read again

/** Reads part by part until there are enough tiles, and begins again. */
function useTiles(asked, after) {
  const [state, setState] = useState({});
  const wanted = JSON.stringify([asked, after]);
  useEffect(() => {
    let timer;
    let over = false;
    async function look() {
      const tiles = [];
      let from = after;
      let reads = 0;
      try {
        do {
          const { data } = await read("map", { ...asked, after: from });
          if (over) return;
          tiles.push(...data.tiles);
          from = data.after;
          reads += 1;
          if (reads === 1 || !from) setState((last) => ({ wanted, tiles: last.wanted === wanted && last.tiles?.length > tiles.length ? last.tiles : [...tiles], next: from, error: null }));
        } while (from && tiles.length < MOST && reads < 2 * (MOST / 1000));
        setState({ wanted, tiles, next: from, error: null });
      } catch (error) {
        if (!over) setState((last) => ({ ...(last.wanted === wanted ? last : {}), wanted, error }));
      }
      if (!over) timer = setTimeout(look, document.hidden ? 3 * PACE : PACE);
    }
    look();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [wanted]);
  return state.wanted === wanted ? state : {};
}

export function Tiles({ place }) {
  const { store, source, prefix, owner, error: like, alike, from, to, after } = place;
  const chosen = { store, source, status: wordOf(place.status), prefix, owner, error: like, alike, from, to };
  const { tiles, next, error } = useTiles(chosen, after);
  const go = useNavigate();
  const map = { ...chosen, view: "map" };
  if (!tiles && !error) return h(Spinner, { size: "sm", "aria-label": "Loading" });
  const open = (event) => {
    const { key } = event.target.dataset ?? {};
    if (key !== undefined) go(at({ store, source, key }));
  };
  return h(Stack, { gap: 3 }, error && h(Problem, { login: error.login }, error.message),
    tiles?.length === 0 && h(Empty, null, "No partition is to be seen here. Choose another state, or clear the search."),
    tiles && h(HStack, { wrap: "wrap" }, WORDS.map((word) => h(Word, { key: word, of: word, count: tiles.filter((tile) => tile.word === word).length })),
      h(Text, { color: "fg.muted", fontSize: "sm" }, "on this map; a click on a tile opens its partition")),
    tiles && h(Box, { onClick: open, display: "flex", flexWrap: "wrap", gap: "2px", role: "img", "aria-label": said(tiles) }, tiles.map(tile)),
    h(HStack, null, after && h(To, { to: at(map) }, "First tiles"), next && h(To, { to: at({ ...map, after: next }) }, "Next tiles")));
}

const said = (tiles) => `${tiles.length} partitions: ${WORDS.map((word) => `${tiles.filter((tile) => tile.word === word).length} ${word}`).join(", ")}`;

// No component of Chakra's: five thousand of them would take a second to draw.
const tile = ({ key, word }) => h("i", { key, "data-key": key, title: `${visible(key)}: ${word}`,
  style: { background: `var(--chakra-colors-${paletteOf(word)}-solid)`, width: 10, height: 10, borderRadius: 2, cursor: "pointer" } });

const RARE = ["parked", "expired", "held", "blocked"]; // of these one alone can be seen in a bar
const about = (keys) => (keys === 1 ? "one key" : `about ${keys.toLocaleString()} keys`);
const STEPS = Object.assign(Object.create(null), { ArrowLeft: -1, ArrowRight: 1 });

/** Where in the keys what is; on a store that does not count it, why not. One bar is in the order of Tab, arrows lead to the others. */
export function KeyRanges({ here, first: chosen }) {
  const { data, error, now } = useLive("ranges", here, () => PACE);
  const [current, setCurrent] = useState(0);
  const bars = useRef(/** @type {any} */ (null));
  const { ranges, said, counted_at: counted } = data ?? {};
  const move = (event) => {
    const next = current + (STEPS[event.key] ?? 0);
    if (!STEPS[event.key] || !ranges[next]) return;
    event.preventDefault();
    setCurrent(next);
    bars.current.children[next].focus();
  };
  return h(Box, { as: "section", "aria-label": "Where in the keys", minHeight: "110px" },
    h(HStack, { justify: "space-between", wrap: "wrap", mb: 1 }, h(Heading, { size: "xs" }, "Where in the keys"),
      h(Text, { as: "span", color: "fg.muted", fontSize: "xs" }, ranges?.length > 0 && `a bar is ${about(whole(ranges[0].counts))} in their order; a click lists what is there · `, counted && ["counted ", h(When, { key: "counted", at: counted, now }), " · "],
        h(To, { to: at({ ...here, view: "map" }) }, "each partition as a tile"))),
    error && h(Problem, { login: error.login }, error.message),
    ranges && h(Box, { ref: bars, role: "group", "aria-label": `${ranges.length} ranges of keys`, onKeyDown: move, display: "flex", gap: "1px", height: "60px" },
      ranges.map((range, place) => h(Range, { key: place, range, here, chosen: range.first === chosen, inOrder: place === Math.min(current, ranges.length - 1), see: () => setCurrent(place) }))),
    ranges?.length > 0 && h(HStack, { justify: "space-between", fontSize: "xs", color: "fg.muted", mt: 1 }, h(Key, { text: ranges[0].first }), h(Key, { text: ranges.at(-1).last })),
    said && h(Text, { fontSize: "sm", color: "fg.muted" }, said));
}

function Range({ range: { first, last, counts }, here, chosen, inOrder, see }) {
  const words = DRAWN.filter((word) => counts[word]);
  const label = `${visible(first)} to ${visible(last)}: ${words.map((word) => `${counts[word].toLocaleString()} ${word}`).join(", ")}`;
  return h(Box, { asChild: true, flex: "1 1 0", minWidth: "3px", display: "flex", flexDirection: "column-reverse", gap: "1px", overflow: "hidden", borderRadius: "1px", _hover: { opacity: 0.75 },
    _focusVisible: { outline: "2px solid currentColor", outlineOffset: "1px" }, ...(chosen ? { boxShadow: "0 3px currentColor" } : {}) },
    h(RouterLink, { to: at({ ...here, from: first, to: last }), title: label, "aria-label": label, "aria-current": chosen ? "true" : undefined, tabIndex: inOrder ? 0 : -1, onFocus: see },
      words.map((word) => h(Box, { key: word, bgColor: colourOf(word), backgroundImage: PATTERNS[word], opacity: word === "claimable" ? 0.62 : 1, flex: `${counts[word]} 1 0`, minHeight: RARE.includes(word) ? "5px" : "1px" }))));
}
