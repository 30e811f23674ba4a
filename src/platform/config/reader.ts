import { parseDuration } from '../../shared/duration.js';
import { isEmail } from '../../shared/email.js';
import type { ConfigFault } from './config.js';
import type { Environment } from './read-environment.js';

/** The parsed value, or a sentence that says what is valid. */
export type Parse<T> = (text: string) => { readonly value: T } | { readonly fault: string };

/** Reads variables one by one and collects all faults. An empty variable counts as unset. */
export class Reader {
  readonly faults: ConfigFault[] = [];

  constructor(private readonly env: Environment) {}

  text(variable: string): string | null {
    const value = this.env[variable]?.trim();
    return value === undefined || value === '' ? null : value;
  }

  /** The parsed variable, or `otherwise` when it is unset or invalid. An invalid one also adds a fault. */
  read<T, D>(variable: string, parse: Parse<T>, otherwise: D): T | D {
    const text = this.text(variable);
    if (text === null) return otherwise;
    const result = parse(text);
    if ('value' in result) return result.value;
    this.fault(variable, result.fault);
    return otherwise;
  }

  fault(variable: string, message: string): void {
    this.faults.push({ variable, message });
  }
}

export const parsers = {
  flag: (text) => {
    const value = { '1': true, true: true, '0': false, false: false }[text.toLowerCase()];
    return value === undefined ? { fault: `is "${text}" and must be 1 or 0` } : { value };
  },
  port: (text) => {
    const value = Number(text);
    const good = /^\d{1,5}$/.test(text) && value <= 65_535;
    return good ? { value } : { fault: `is "${text}" and must be a port, 0 to 65535 (0 takes any free one)` };
  },
  price: (text) => {
    const value = Number(text);
    return /^\d+(\.\d+)?$/.test(text)
      ? { value }
      : { fault: `is "${text}" and must be US dollars a million tokens, such as 0.15` };
  },
  hostPort: (text) =>
    /^[^\s/:]+:\d{1,5}$|^\[[0-9a-f:]+\]:\d{1,5}$/i.test(text)
      ? { value: text }
      : { fault: `is "${text}" and must be host:port, such as 127.0.0.1:7233` },
  email: (text) => (isEmail(text) ? { value: text } : { fault: `is "${text}" and must be an e-mail address` }),
} satisfies Record<string, Parse<unknown>>;

export function oneOf<const T extends string>(...words: readonly T[]): Parse<T> {
  return (text) => {
    const value = words.find((word) => word === text.toLowerCase());
    return value === undefined ? { fault: `is "${text}" and must be one of ${words.join(', ')}` } : { value };
  };
}

/** Parses `90s`, `30m`, `2h` to milliseconds. */
export function duration(longestMs: number): Parse<number> {
  return (text) => {
    const value = parseDuration(text);
    if (value !== undefined && value <= longestMs) return { value };
    return { fault: `is "${text}" and must be a duration up to ${longestMs / 3_600_000}h, such as 30m` };
  };
}

/** An absolute URL with one of these schemes. It may contain a password, so a fault never repeats it. */
export function address(example: string, ...schemes: readonly string[]): Parse<string> {
  return (text) => {
    const good = URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1));
    return good ? { value: text.replace(/\/+$/, '') } : { fault: `must be an address such as ${example}` };
  };
}
