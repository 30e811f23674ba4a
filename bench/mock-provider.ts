import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One local mock of an OpenAI endpoint, in a process of its own, so that its time is not the product's. */
const CHUNK = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'mock', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const ANSWER =
  CHUNK({ role: 'assistant', content: 'done' }, null) +
  CHUNK({}, 'stop') +
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'mock', choices: [], usage: { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 } })}\n\ndata: [DONE]\n\n`;

let delayMs = 0;
const server = createServer((request, response) => {
  const began = Date.now();
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const marker = /MARK-\\*"?([a-z0-9]+)/.exec(body)?.[1];
    if (marker) process.send?.({ marker, began });
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(ANSWER);
    }, delayMs);
  });
});
process.on('message', (message: { delayMs: number }) => {
  delayMs = message.delayMs;
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
