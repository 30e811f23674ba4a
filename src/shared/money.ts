/** Money is integer nano-USD everywhere but on the wire. USD as a decimal number, to nano-USD; rounds to the nearest. */
export function toNano(usd: number): bigint {
  return BigInt(Math.round(usd * 1e9));
}

/** Nano-USD to the decimal number that the wire carries. */
export function toUsd(nano: bigint): number {
  return Number(nano) / 1e9;
}
