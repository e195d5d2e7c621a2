// What the page reads, again and again.

const SHOWN = 2000; // milliseconds between two reads
const HIDDEN = 30000; // and while nobody sees the page
const { useEffect, useState } = globalThis.React;

async function read(path, parameters) {
  const url = new URL(`coordination/api/v1/${path}`, document.baseURI);
  for (const [name, value] of Object.entries(parameters)) if (value) url.searchParams.set(name, value);
  const answer = await fetch(url, { headers: { Accept: "application/json" } });
  if (answer.ok) return answer.json();
  if (answer.status === 401) throw new Error("You are no longer logged in. Load the page again.");
  const { detail } = await answer.json().catch(() => ({}));
  throw new Error(typeof detail === "string" ? detail : `The server answered ${answer.status}.`);
}

/** Reads `path` now and then; the last good answer stays while a later one fails. */
export function useLive(path, parameters, every = SHOWN) {
  const asked = JSON.stringify([path, parameters]);
  const [state, setState] = useState({ asked });
  useEffect(() => {
    let timer;
    let over = false;
    async function look() {
      clearTimeout(timer);
      const next = await read(path, parameters).then(
        (data) => ({ data, error: null }),
        (error) => ({ error: error.message }),
      );
      if (over) return;
      setState((last) => ({ ...(last.asked === asked ? last : {}), asked, ...next }));
      timer = setTimeout(look, document.hidden ? HIDDEN : every);
    }
    const seen = () => !document.hidden && look();
    document.addEventListener("visibilitychange", seen);
    look();
    return () => {
      over = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [asked]);
  return state.asked === asked ? state : {};
}
