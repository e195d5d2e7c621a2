// How large something is, in words.

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Returns a number of bytes with three digits at most, in powers of 1,000. */
export function bytes(number) {
  if (typeof number !== "number") return "unknown";
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, number)) / 3)));
  const amount = number / 1000 ** power;
  return `${amount < 10 && power ? amount.toFixed(1) : Math.round(amount).toLocaleString()} ${UNITS[power]}`;
}
