export interface StreamedItem {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: each event has a shape of its own
  readonly data: any;
}

export interface OpenStream {
  readonly items: readonly StreamedItem[];
  /** Of the newest answer: what was told since the last reset. */
  readonly text: () => string;
  readonly resets: () => number;
  close(): void;
}

/** Reads a run's stream into a list that grows, until it ends or is closed. */
export function readStream(request: (init: RequestInit) => Promise<Response> | Response): OpenStream {
  const hangUp = new AbortController();
  const items: StreamedItem[] = [];
  void collect(request, hangUp.signal, items).catch((error: unknown) => {
    if (!hangUp.signal.aborted) items.push({ event: 'broken', data: String(error) });
  });
  return {
    items,
    text: () => {
      const from = items.findLastIndex(({ event }) => event === 'reset');
      const deltas = items.slice(from + 1).filter(({ event }) => event === 'delta');
      return deltas.map(({ data }) => data.text as string).join('');
    },
    resets: () => items.filter(({ event }) => event === 'reset').length,
    close: () => hangUp.abort(),
  };
}

async function collect(
  request: (init: RequestInit) => Promise<Response> | Response,
  signal: AbortSignal,
  items: StreamedItem[],
): Promise<void> {
  const response = await request({ signal });
  if (!response.body) throw new Error(`no stream: ${response.status}`);
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = /^event: ?(.*)$/m.exec(block)?.[1];
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (event) items.push({ event, data: JSON.parse(data ?? 'null') });
    }
  }
}
