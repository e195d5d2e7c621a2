// What the page asks of the server, again and again or once.

const SHOWN = 2000; // milliseconds between two reads
const HIDDEN = 30000; // and while nobody sees the page
const API = "coordination/api/v1/";
const { useEffect, useState, useSyncExternalStore } = globalThis.React;

/** What a person is told: `login` is where to go when the token has ended. */
class Refused extends Error {
  /** @param {string} message @param {string | null} login */
  constructor(message, login = null) {
    super(message);
    this.login = login;
  }
}

async function answered(asked) {
  const answer = await asked.catch(() => { throw new Refused("Airflow's API server does not answer."); });
  if (answer.ok) return answer;
  if (answer.status === 401) {
    const login = new URL(`api/v2/auth/login?next=${encodeURIComponent(globalThis.location.href)}`, document.baseURI);
    throw new Refused("You are no longer logged in: your session has ended, and what you see is as it was then.", login.href);
  }
  const { detail } = await answer.json().catch(() => ({}));
  throw new Refused(typeof detail === "string" ? detail : `The server answered ${answer.status}.`);
}

/** Reads once; `now` is the store's clock, `served` the server's. The browser keeps what has not changed. */
export async function read(path, parameters) {
  const url = new URL(API + path, document.baseURI);
  for (const [name, value] of Object.entries(parameters)) if (value) url.searchParams.set(name, value);
  const answer = await answered(fetch(url, { headers: { Accept: "application/json" } }));
  const { headers } = answer;
  return { data: await answer.json(), now: headers.get("Coordination-Store-Time"), served: new Date(headers.get("Date")) };
}

/** Changes something, or tries to: another site's page cannot send this header. */
export async function post(path, body) {
  const headers = { Accept: "application/json", "Content-Type": "application/json", "X-Coordination-Action": "1" };
  const asked = fetch(new URL(API + path, document.baseURI), { method: "POST", headers, body: JSON.stringify(body) });
  return (await answered(asked)).json();
}

/** What all reads of the page share: when the newest was answered, and whether a person has stopped them. */
let shared = { at: /** @type {Date | null} */ (null), frozen: false };
const watchers = new Set();
const subscribe = (watcher) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};
const tell = (some) => {
  shared = { ...shared, ...some };
  for (const watcher of [...watchers]) watcher();
};
export const usePace = () => useSyncExternalStore(subscribe, () => shared);

/** Stops all reads that come by themselves, or lets them go on; what one asks for anew is read all the same. */
export const freeze = (/** @type {boolean} */ frozen) => tell({ frozen });

/** Reads `path` again after as long as `pace` says of what was read; the last good answer stays while a later one fails. */
export function useLive(path, parameters, pace = (/** @type {any} */ _) => SHOWN) {
  const asked = JSON.stringify([path, parameters]);
  const [state, setState] = useState({ asked });
  useEffect(() => {
    let timer;
    let over = false;
    async function look() {
      clearTimeout(timer);
      /** @type {any} */
      const next = await read(path, parameters).then((found) => ({ ...found, error: null }), (error) => ({ error }));
      if (over) return;
      setState((last) => ({ ...(last.asked === asked ? last : {}), asked, ...next }));
      if (next.served) tell({ at: next.served });
      clearTimeout(timer);
      if (!shared.frozen) timer = setTimeout(look, document.hidden ? HIDDEN : next.data ? pace(next.data) : SHOWN);
    }
    let { frozen } = shared;
    const turn = () => {
      if (shared.frozen === frozen) return;
      frozen = shared.frozen;
      if (frozen) clearTimeout(timer);
      else look();
    };
    const unsubscribe = subscribe(turn);
    const seen = () => !document.hidden && !shared.frozen && look();
    document.addEventListener("visibilitychange", seen);
    look();
    return () => {
      over = true;
      unsubscribe();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [asked]);
  return state.asked === asked ? state : {};
}
