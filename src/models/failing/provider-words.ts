import { isRecord } from '../../shared/json.js';

/** The content of an error answer: a sentence for people, and the provider's own labels. */
export interface ProviderWords {
  readonly text: string;
  /** `code`, `type` and `status` of the error, lower case, joined by spaces. */
  readonly labels: string;
  /** An HTTP status inside the body, as gateways send with an answer of 200. */
  readonly status: number | null;
}

const LONGEST = 1_000;

/** Reads the error of a body or of a stream's error event: JSON of any provider's shape, a web page, or plain text. */
export function providerWords(body: unknown): ProviderWords {
  if (typeof body === 'string') return wordsOfText(body);
  const error = errorIn(body);
  if (!isRecord(error)) return { text: typeof error === 'string' ? cut(error) : '', labels: '', status: null };
  const labels = [error.code, error.type, error.status].filter(
    (label) => typeof label === 'string' || typeof label === 'number',
  );
  const status = [error.code, error.status].find((code) => typeof code === 'number' && code >= 400 && code < 600);
  return {
    text: cut(firstText(error.message, error.detail, error.error_description, error.error) ?? ''),
    labels: labels.join(' ').toLowerCase(),
    status: typeof status === 'number' ? status : null,
  };
}

function wordsOfText(body: string): ProviderWords {
  const parsed = parseJson(body);
  if (parsed !== undefined && typeof parsed !== 'string') return providerWords(parsed);
  return { text: cut(isPage(body) ? `a web page: ${pageText(body)}` : body.trim()), labels: '', status: null };
}

/** `{ error: {…} }`, `{ error: "…" }`, `{ response: { error } }`, Google's `[{ error }]`, or the error itself. */
function errorIn(body: unknown): unknown {
  if (Array.isArray(body)) return errorIn(body[0]);
  if (!isRecord(body)) return body;
  if (isRecord(body.response) && body.response.error) return body.response.error;
  return isRecord(body.error) ? body.error : body;
}

function firstText(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (Array.isArray(value) || isRecord(value)) return JSON.stringify(value);
  }
  return undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isPage(text: string): boolean {
  return /^\s*<(!doctype|html|head|body)\b/i.test(text);
}

function pageText(page: string): string {
  const title = /<title[^>]*>([^<]{1,200})/i.exec(page)?.[1] ?? page.slice(0, 5_000).replace(/<[^>]*>/g, ' ');
  return title.replace(/\s+/g, ' ').trim().slice(0, 200);
}

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}
