import type { Log, LogFields } from '../../shared/log.js';
import { type Redactor, redactor } from '../../shared/redact.js';

/**
 * The secrets of one lane while one attempt advances it. Everything that the lane receives or emits passes through
 * here: replies, results, rows, events, deltas, logs and failures. It grows as secrets are opened and tokens fetched;
 * without secrets it does nothing.
 */
export class SecretMask {
  readonly #texts = new Map<string, string>();
  #redactor: Redactor | undefined;

  /** Masks these texts as `[secret NAME]` from now on. */
  add(name: string, texts: readonly string[]): void {
    for (const text of texts) {
      if (this.#texts.has(text)) continue;
      this.#texts.set(text, name);
      this.#redactor = undefined;
    }
  }

  get isEmpty(): boolean {
    return this.#texts.size === 0;
  }

  get redactor(): Redactor {
    this.#redactor ??= redactor([...this.#texts].map(([text, name]) => [name, text] as const));
    return this.#redactor;
  }

  text(text: string): string {
    return this.isEmpty ? text : this.redactor.text(text);
  }

  /** Masks every text in a plain value, keys included. */
  value<T>(value: T): T {
    return this.isEmpty ? value : (this.#walk(value) as T);
  }

  /** Masks an error's texts: thrown errors reach Temporal and logs. */
  error<T>(error: T): T {
    if (this.isEmpty) return error;
    for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
      at.message = this.text(at.message);
      if (at.stack !== undefined) at.stack = this.text(at.stack);
      if (at instanceof AggregateError) for (const each of at.errors) this.error(each);
    }
    return error;
  }

  log(log: Log): Log {
    const write = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: LogFields, message?: string) =>
      log[level](this.value(fields), message);
    return {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      child: (fields) => this.log(log.child(this.value(fields))),
    };
  }

  /** A large integer keeps all its digits, so it may contain a secret. */
  #integer(value: bigint): bigint | string {
    const text = this.redactor.text(String(value));
    return text === String(value) ? value : text;
  }

  #walk(value: unknown): unknown {
    if (typeof value === 'string') return this.redactor.text(value);
    if (typeof value === 'bigint') return this.#integer(value);
    if (Array.isArray(value)) return value.map((entry) => this.#walk(entry));
    if (value instanceof Error) return this.error(value);
    if (!isPlain(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [this.redactor.text(key), this.#walk(entry)]),
    );
  }
}

/** Dates and bytes are left unchanged. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
