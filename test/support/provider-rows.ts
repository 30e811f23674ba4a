import type { FakeAnswer } from './fake-provider.js';

/** A way in which a provider answers, and what becomes of a run on it. */
export interface ProviderRow {
  readonly name: string;
  /** The answer to its n-th call, from 1. */
  readonly answer: (n: number) => FakeAnswer;
  /** How often it is asked when there is no other model. */
  readonly calls: number;
  /** What the step fails with then; left out when it is answered. */
  readonly error?: RegExp;
  /** At least so long lies between the first two calls, in ms. */
  readonly gapMs?: number;
  /** How often the call is put off to a durable timer. */
  readonly waits?: number;
  /** With a second model in the alias: how often the first is asked, and whether the second takes over. */
  readonly first?: number;
  readonly takesOver: boolean;
  /** Whether the usage that is booked is reckoned, where the model answered. */
  readonly estimated?: boolean;
  /** What the second call must carry. */
  readonly secondCall?: RegExp;
  /** True when an answer begins that is not taken to its end. */
  readonly begins?: true;
  /** Nobody listens at its address. */
  readonly nobody?: true;
}

/** Whether its first answer begins, and never comes to its end. */
export function breaksOff(row: ProviderRow): boolean {
  const { cutAfter = 0, endAfter = 0, hangAfter = 0 } = row.answer(1);
  return row.begins ?? Math.max(cutAfter, endAfter, hangAfter) > 1;
}

const said = (message: string, more: object = {}) => JSON.stringify({ error: { message, ...more } });
const status = (code: number, body = said(`words of ${code}`), headers: Readonly<Record<string, string>> = {}) => ({
  status: code,
  body,
  headers,
});
const well: FakeAnswer = { text: 'from the first' };
const always = (answer: FakeAnswer) => () => answer;
const once = (answer: FakeAnswer) => (n: number) => (n === 1 ? answer : well);
const event = (body: string) => ({ events: [`data: ${body}\n\n`] });
const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
const words = 'one two three four five six';

/** Asked once, fails with its words, and another model takes over. */
const refused = (code: number, body?: string): ProviderRow => ({
  name: `${code}${body ? ` ${body}` : ''}`,
  answer: always(status(code, body)),
  calls: 1,
  error: new RegExp(`answered ${code}: `),
  takesOver: true,
});

/** The fault of the request itself: asked once, and no other model is. */
const ours = (code: number, body?: string): ProviderRow => ({ ...refused(code, body), takesOver: false });

/** Asked four times with growing waits, then another model takes over, or the step fails. */
const broken = (name: string, answer: FakeAnswer, error: RegExp): ProviderRow => ({
  name,
  answer: always(answer),
  calls: 4,
  error,
  gapMs: 450,
  takesOver: true,
});

/** Asked again in place, and then it answers: no other model is needed. */
const passes = (name: string, answer: FakeAnswer, more: Partial<ProviderRow> = {}): ProviderRow => ({
  name,
  answer: once(answer),
  calls: 2,
  takesOver: false,
  ...more,
});

const answered = (name: string, answer: FakeAnswer, more: Partial<ProviderRow> = {}): ProviderRow => ({
  name,
  answer: always(answer),
  calls: 1,
  takesOver: false,
  ...more,
});

/** Refused for its content: told by name, once, and no other model is asked to do it instead. */
const filtered = (name: string, answer: FakeAnswer): ProviderRow =>
  answered(name, answer, { error: /refused to answer \(content filter\).*Change the instruction/ });

const tooLong = (code: number, body?: string): ProviderRow => ({
  ...ours(code, body),
  error: /does not fit into the context of .*\(32768 tokens\).*The provider said: .*answered/,
});

/** Every error class of the design's runs.md 3.7, and the streams that are none. */
export const PROVIDER_ROWS: readonly ProviderRow[] = [
  ours(400),
  ours(422),
  refused(400, said('API key not valid. Please pass a valid API key.')),
  refused(401),
  refused(402),
  refused(403),
  refused(404),
  tooLong(413),
  tooLong(400, said('too long', { code: 'context_length_exceeded' })),
  refused(429, said('You exceeded your current quota', { code: 'insufficient_quota' })),
  broken('408 that stays', status(408), /answered 408: words of 408/),
  broken('500 that stays', status(500), /answered 500: words of 500/),
  broken('503 that stays', status(503), /answered 503: words of 503/),
  broken('529 that stays', status(529), /answered 529: words of 529/),
  broken('429 that stays, without a time', status(429), /answered 429: words of 429/),
  broken('a 502 that is a page', status(502, '<html><title>Bad Gateway</title>'), /a web page: Bad Gateway/),
  passes('500 once', status(500), { gapMs: 450 }),
  passes('429 with Retry-After in seconds', status(429, said('busy'), { 'retry-after': '2' }), { gapMs: 1_900 }),
  passes('503 with Retry-After as a date', {}, { gapMs: 1_900 }),
  passes('529 with Retry-After of 0', status(529, said('busy'), { 'retry-after': '0' })),
  {
    ...passes('429 with a time too long to wait in place', status(429, said('busy'), { 'retry-after': '11' })),
    gapMs: 10_900,
    waits: 1,
    first: 1,
    takesOver: true,
  },
  {
    ...passes('500 with a time too long to wait in place', status(500, said('busy'), { 'retry-after': '11' })),
    gapMs: 10_900,
    waits: 1,
    first: 1,
    takesOver: true,
  },
  broken('a connection cut before the answer', { cutAfter: -1 }, /closed the connection/),
  broken('a stream cut by a reset', { text: words, cutAfter: 4 }, /cut the stream|closed the connection/),
  broken(
    'a stream that ends early',
    { text: words, endAfter: 4 },
    /ended without a finish reason|cut before the answer/,
  ),
  {
    ...refused(200),
    name: 'a stream that cannot be read',
    answer: always(event('<nonsense>')),
    error: /cannot be read as an answer: <nonsense>/,
  },
  {
    ...refused(200),
    name: 'an answer over its limit',
    answer: always({ events: Array<string>(1_100).fill(chunk({ content: 'word '.repeat(1_600) })) }),
    error: /it sent an answer larger than 8 MiB, and the call was given up/,
    begins: true,
  },
  answered('a stream with harmless oddities', {
    events: [
      'data:\n\n',
      'data: {"id":1,"choices":null}\n\n',
      chunk({ role: 'model', content: 'from the first' }),
      'data: {"choices":[{"delta":null,"finish_reason":"stop"}]}\n\n',
      'data: {"choices":[],"usage":"{\\"prompt_tokens\\":\\"10\\",\\"completion_tokens\\":5}"}\n\n',
      'data: [DONE]\n\n',
    ],
  }),
  broken('an error event in a 200: busy', event(said('engine is busy', { code: 503 })), /broke off: engine is busy/),
  {
    ...answered('an error event in a 200: wrong request', event(said('no', { type: 'invalid_request_error' }))),
    error: /broke off: no/,
  },
  { ...refused(200, 'plain words'), name: 'a 200 that is no stream', error: /answered without streaming: plain words/ },
  { ...broken('nobody listens', {}, /refused the connection/), nobody: true, gapMs: 0 },
  passes('a stream cut once', { text: words, cutAfter: 4 }),
  passes('a stream that falls silent', { text: words, hangAfter: 3 }),
  passes('a stream of nothing but keep-alives', { events: Array<string>(100).fill(': alive\n\n'), eventDelayMs: 300 }),
  answered('a stream that is slow and never silent', { text: words, eventDelayMs: 700 }),
  passes(
    'malformed arguments once',
    { calls: [{ name: 'Glob', raw: '{"pattern": ' }] },
    { secondCall: /not a JSON object/ },
  ),
  answered(
    'malformed arguments for ever',
    { calls: [{ name: 'Glob', raw: '{"pattern": ' }] },
    { calls: 5, error: /stuck: 5 calls in a row were not valid/ },
  ),
  answered('no usage', { ...well, usage: null }, { estimated: true }),
  answered('usage below zero', { ...well, usage: { input: -100, output: -5 } }, { estimated: true }),
  answered('usage beyond all measure', { ...well, usage: { input: 1e15, output: 1e15 } }, { estimated: true }),
  filtered('an empty answer by a content filter', { finish: 'content_filter' }),
  filtered('half an answer by a content filter', { text: 'half of it', finish: 'content_filter' }),
  filtered(
    'a refusal',
    event(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta: { refusal: 'I will not.' }, finish_reason: 'stop' }],
      }),
    ),
  ),
];

/** The row whose answer depends on the clock: at least two seconds from now, as a date tells whole ones. */
export function withDate(row: ProviderRow): ProviderRow {
  if (!row.name.includes('as a date')) return row;
  const busy = () => status(503, said('busy'), { 'retry-after': new Date(Date.now() + 3_000).toUTCString() });
  return { ...row, answer: (n) => (n === 1 ? busy() : well) };
}
