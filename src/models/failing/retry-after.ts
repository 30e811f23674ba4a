const DAY_MS = 86_400_000;

/**
 * The wait that a provider asks for, in ms, at most a day; null when it names none. `Retry-After` is seconds or an HTTP
 * date (RFC 9110 10.2.3); OpenAI adds `retry-after-ms`; Google puts a `retryDelay` into the body.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, body: string, nowMs: number): number | null {
  const asked = fromMs(headers['retry-after-ms']) ?? fromHeader(headers['retry-after'], nowMs) ?? fromBody(body);
  return asked === null ? null : Math.min(DAY_MS, Math.max(0, Math.ceil(asked)));
}

function fromMs(value: string | undefined): number | null {
  return value !== undefined && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : null;
}

function fromHeader(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const seconds = fromMs(value);
  if (seconds !== null) return seconds * 1_000;
  // `-5` and `soon` are not dates, though Date.parse accepts the first.
  const at = /^[A-Za-z]{3,}/.test(value.trim()) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : at - nowMs;
}

function fromBody(body: string): number | null {
  const match = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body);
  return match ? Number(match[1]) * 1_000 : null;
}
