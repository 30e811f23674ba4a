import { markText } from '../../shared/exact-json.js';

/** Marks the large integers of a result with structured content, which the client library would round. */
export function markMessage(text: string): string {
  return text.includes('"structuredContent"') ? markText(text) : text;
}

/** Marks the messages in a server's answer. An event stream is passed on in whole lines. */
export function markMessages(body: ReadableStream<Uint8Array>, type: string | null): ReadableStream<Uint8Array> {
  const isStream = type?.includes('text/event-stream') ?? false;
  if (!isStream && !(type?.includes('json') ?? false)) return body;
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let pieces: string[] = [];
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true });
        const end = isStream ? Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1 : 0;
        if (end === 0) return void pieces.push(text);
        const lines = pieces.join('') + text.slice(0, end);
        pieces = [text.slice(end)];
        const marked = lines.split(/(?<=[\r\n])/).map(markMessage);
        controller.enqueue(encoder.encode(marked.join('')));
      },
      flush(controller) {
        controller.enqueue(encoder.encode(markMessage(pieces.join('') + decoder.decode())));
      },
    }),
  );
}
