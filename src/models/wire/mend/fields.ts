import { isRecord } from '../../../shared/json.js';

export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

export function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** An id or a name that may come as a number. */
export function wordOf(value: unknown): string | null {
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : textOf(value);
}

/** Token counts as numbers: some servers send them as text. */
export function usageOf(given: unknown): Record<string, unknown> | null {
  const usage = typeof given === 'string' ? parsed(given) : given;
  if (!isRecord(usage)) return null;
  return Object.fromEntries(
    Object.entries(usage).flatMap(([name, value]) => {
      const count = isRecord(value) ? usageOf(value) : Array.isArray(value) ? value : numberOf(value);
      return count === null ? [] : [[name, count]];
    }),
  );
}

export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
