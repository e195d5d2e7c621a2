// What every form is made of: work that is tried, told of, and dropped when nobody looks at it any more.

import { h } from "./parts.js";

const { useEffect, useRef, useState } = globalThis.React;
const { Box, Input } = globalThis.ChakraUI;

/** Runs work, keeping what it tells with `set`, that it is `busy`, and what its `problem` was. */
export function useWork() {
  /** @type {any} */
  const [state, setState] = useState({});
  const here = useRef(true);
  useEffect(() => {
    here.current = true;
    return () => { here.current = false; };
  }, []);
  const waits = () => here.current;
  const set = (some) => waits() && setState((last) => ({ ...last, ...some }));
  const run = async (work) => {
    set({ busy: true, problem: null });
    await work().catch((problem) => set({ problem }));
    set({ busy: false });
  };
  return { state, set, run, clear: () => setState({}), waits };
}

export const named = (action) => action[0].toUpperCase() + action.slice(1);

export const Field = ({ label, value, set, required }) => h(Box, { as: "label", flex: "1 1 16rem", fontSize: "sm" }, label,
  h(Input, { size: "sm", value, required, maxLength: 1000, onChange: (event) => set(event.target.value) }));
