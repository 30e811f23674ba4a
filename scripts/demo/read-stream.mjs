/**
 * Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) whose data is JSON.
 * @param {Response} response
 * @returns {AsyncGenerator<{ event: string, data: unknown }>}
 */
export async function* readStream(response) {
  if (!response.body) return;
  let held = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (held + chunk).split('\n\n');
    held = blocks.pop() ?? '';
    for (const block of blocks) {
      const item = readBlock(block);
      if (item) yield item;
    }
  }
}

/** Null for a comment, which only keeps the connection open. @param {string} block */
function readBlock(block) {
  const lines = block.split('\n');
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart());
  if (data.length === 0) return null;
  const event =
    lines
      .find((line) => line.startsWith('event:'))
      ?.slice(6)
      .trim() ?? 'message';
  return { event, data: /** @type {unknown} */ (JSON.parse(data.join('\n'))) };
}
