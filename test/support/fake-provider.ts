import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { WIRES } from './fake-provider-wires.js';

/** A call that reached the provider. */
export interface FakeCall {
  /** Counts from 1. */
  readonly n: number;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly idempotencyKey: string | null;
  /** The whole body as it was sent, for markers. */
  readonly prompt: string;
  // biome-ignore lint/suspicious/noExplicitAny: the body is whatever was sent; tests look into it
  readonly body: any;
  /** True once the caller hung up before the answer's end. */
  readonly hungUp: () => boolean;
}

export interface FakeUsage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly costUsd?: number;
}

/** What the provider answers. All of it is optional: `{}` is an empty answer that ends well. */
export interface FakeAnswer {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly {
    readonly name: string;
    readonly args?: object;
    readonly raw?: string;
    readonly id?: string;
  }[];
  /** Null tells no usage. */
  readonly usage?: FakeUsage | null | undefined;
  /** The finish reason in the provider's own words. */
  readonly finish?: string;
  /** Before the answer begins, and between its events. */
  readonly delayMs?: number;
  readonly eventDelayMs?: number;
  /** Answers with this status and body instead of a stream. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Breaks the connection after so many events; -1 at once, without an answer. */
  readonly cutAfter?: number;
  /** Goes silent after so many events, until the caller hangs up. */
  readonly hangAfter?: number;
  /** Ends the answer properly after so many events, as if it were whole. */
  readonly endAfter?: number;
  /** Sends these instead of the answer's own events. */
  readonly events?: readonly string[];
}

export type Respond = (call: FakeCall) => FakeAnswer | Promise<FakeAnswer>;

export interface FakeProvider {
  /** The base URL for `openai-compatible`, `openai` and `anthropic`. */
  readonly url: string;
  readonly calls: readonly FakeCall[];
  /** How often each idempotency key came. */
  readonly byKey: () => ReadonlyMap<string, number>;
  /** The calls whose body holds the marker. */
  readonly callsWith: (marker: string) => readonly FakeCall[];
  respond(respond: Respond): void;
  close(): Promise<void>;
}

/**
 * A model provider on a free port of 127.0.0.1: a real HTTP server that streams OpenAI's chat completions (and, by the
 * path, Anthropic's messages, Gemini's and OpenAI's responses). Answers `ok` until told otherwise.
 */
export async function startFakeProvider(first: Respond = () => ({ text: 'ok' })): Promise<FakeProvider> {
  const calls: FakeCall[] = [];
  let respond = first;
  const server = createServer(async (request, response) => {
    const call = await readCall(request, response, calls.length + 1);
    calls.push(call);
    await answer(call, response, await respond(call)).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    byKey: () => {
      const counts = new Map<string, number>();
      for (const { idempotencyKey: key } of calls) if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
      return counts;
    },
    callsWith: (marker) => calls.filter(({ prompt }) => prompt.includes(marker)),
    respond: (next) => {
      respond = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function readCall(request: IncomingMessage, response: ServerResponse, n: number): Promise<FakeCall> {
  let prompt = '';
  for await (const chunk of request.setEncoding('utf8')) prompt += chunk as string;
  const key = request.headers['idempotency-key'];
  let hungUp = false;
  response.on('close', () => {
    hungUp = !response.writableFinished;
  });
  return {
    n,
    path: request.url ?? '',
    headers: request.headers,
    idempotencyKey: typeof key === 'string' ? key : null,
    prompt,
    body: prompt === '' ? {} : JSON.parse(prompt),
    hungUp: () => hungUp,
  };
}

async function answer(call: FakeCall, response: ServerResponse, given: FakeAnswer): Promise<void> {
  if (given.delayMs) await wait(given.delayMs, undefined, { ref: false });
  if (given.cutAfter === -1) return void response.destroy();
  if (given.status !== undefined || given.body !== undefined) {
    response.writeHead(given.status ?? 200, { 'content-type': 'application/json', ...given.headers });
    return void response.end(given.body ?? '');
  }
  const wire = WIRES.find(({ path }) => path.test(call.path.split('?')[0] ?? ''))?.wire;
  if (!wire) {
    response.writeHead(404, { 'content-type': 'application/json' });
    return void response.end(JSON.stringify({ error: { message: `no such path: ${call.path}` } }));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', ...given.headers });
  await stream(response, given, given.events ?? wire(given, String(call.body.model ?? 'fake')));
}

async function stream(response: ServerResponse, given: FakeAnswer, events: readonly string[]): Promise<void> {
  for (const [index, event] of events.entries()) {
    if (given.endAfter === index) break;
    if (given.hangAfter === index) return;
    if (given.cutAfter === index) {
      // What was written must arrive before the connection breaks.
      await new Promise((done) => response.write(': \n\n', done));
      return void response.destroy();
    }
    if (response.destroyed) return;
    response.write(event);
    if (given.eventDelayMs) await wait(given.eventDelayMs);
  }
  response.end();
}
