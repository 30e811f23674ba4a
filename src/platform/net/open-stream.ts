import { Readable } from 'node:stream';
import { checkUrl } from './check-url.js';
import type { NetRequest, NetStream } from './contract.js';
import { toNetError } from './failure.js';
import { messageOf } from './message.js';
import { NetError } from './net-error.js';
import { unpack } from './read-body.js';
import { locationOf, type Message, nextHop } from './redirect.js';
import { type HopRules, type OpenHop, openHop } from './send-hop.js';
import { requireWithin } from './within.js';

export type StreamRules = Omit<HopRules, 'readsRedirects'> & { readonly agent: string };

/**
 * One request whose response is streamed; its connection ends with the body. Follows as many redirects as the request
 * allows and checks each hop. Throws NetError.
 */
export async function openStream(request: NetRequest, rules: StreamRules): Promise<NetStream> {
  const { redirects = 0 } = request;
  let url = checkUrl(request.url, rules.allow, request);
  if (request.within !== undefined) requireWithin(url, request.within, 'the address');
  let message: Message = messageOf(request, rules.agent);
  for (let hop = 0; ; hop += 1) {
    const answer = await openHop(url, message, rules);
    const location = redirects === 0 ? null : locationOf(answer.status, answer.headers);
    if (location === null) return streamOf(answer, url.host, rules);
    answer.end();
    if (hop === redirects) throw new NetError('redirect', `${url.host} redirects more than ${redirects} times`, true);
    const next = nextHop(url, message, { status: answer.status, location });
    if (request.within !== undefined) requireWithin(next.url, request.within, `the redirect of ${url.host}`);
    message = next.message;
    url = checkUrl(next.url.href, rules.allow, request);
  }
}

function streamOf(
  { status, headers, hasBody, body: packed, end }: OpenHop,
  host: string,
  rules: StreamRules,
): NetStream {
  try {
    const encoding = headers.get('content-encoding');
    const maxBytes = typeof rules.maxBytes === 'number' ? rules.maxBytes : rules.maxBytes(headers);
    const body = hasBody ? unpack(packed, { encoding, maxBytes, host }) : Readable.from([]);
    body.once('close', end);
    return { kind: 'stream', status, headers, body: webStream(body, host) };
  } catch (error) {
    end();
    throw error;
  }
}

function webStream(body: Readable, host: string): ReadableStream<Uint8Array> {
  let isOpen = true;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        body.pause();
        body.on('data', (chunk: Buffer) => {
          controller.enqueue(new Uint8Array(chunk));
          if ((controller.desiredSize ?? 0) <= 0) body.pause();
        });
        body.once('end', () => {
          if (isOpen) controller.close();
          isOpen = false;
        });
        body.once('error', (error) => {
          if (isOpen) controller.error(toNetError(error, { host, connected: true }));
          isOpen = false;
        });
      },
      pull: () => void body.resume(),
      cancel() {
        isOpen = false;
        body.destroy();
      },
    },
    { highWaterMark: 65_536, size: (chunk) => chunk.byteLength },
  );
}
