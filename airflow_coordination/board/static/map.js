// The map of a source: a tile for each partition, coloured by its state, for people who would rather look than read.

import { read } from "./api.js";
import { Empty, Problem, To, at, h, visible } from "./parts.js";
import { WORDS, Word, paletteOf, wordOf } from "./states.js";

const { useEffect, useState } = globalThis.React;
const { Box, HStack, Spinner, Stack, Text } = globalThis.ChakraUI;
const { useNavigate } = globalThis.ReactRouterDOM;

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
  const { store, source, prefix, owner, error: like, alike, after } = place;
  const chosen = { store, source, status: wordOf(place.status), prefix, owner, error: like, alike };
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
