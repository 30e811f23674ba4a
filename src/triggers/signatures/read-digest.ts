/** 32 bytes as 64 hex digits of either case, or null. */
export function fromHex(text: string): Buffer | null {
  return /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : null;
}

/** 32 bytes in either alphabet of base64, or null. */
export function fromBase64(text: string): Buffer | null {
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null;
}

/** How far a delivery's timestamp may be from the clock, in either direction. */
const TOLERANCE_S = 300;

/** Whether a time in seconds since the epoch is within the tolerance of now. */
export function isFresh(seconds: string, nowMs: number): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(nowMs / 1000 - Number(seconds)) <= TOLERANCE_S;
}
