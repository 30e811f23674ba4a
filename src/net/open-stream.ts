import { Readable } from 'node:stream';
import { checkUrl } from './check-url.js';
import type { NetRequest, NetStream } from './contract.js';
import { toNetError } from './failure.js';
import { messageOf } from './message.js';
import { unpack } from './read-body.js';
import { type HopRules, openHop } from './send-hop.js';
import { requireWithin } from './within.js';

export type StreamRules = Omit<HopRules, 'readsRedirects'> & { readonly agent: string };

/** One request whose answer is handed over as it comes; its connection ends with the body. Throws NetError. */
export async function openStream(request: NetRequest, rules: StreamRules): Promise<NetStream> {
  const url = checkUrl(request.url, rules.allow, request);
  if (request.within !== undefined) requireWithin(url, request.within, 'the address');
  const { host } = url;
  const { status, headers, hasBody, body: packed, end } = await openHop(url, messageOf(request, rules.agent), rules);
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
