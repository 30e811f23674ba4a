import type { Duplex } from 'node:stream';

/** Pipes two streams both ways until both have ended; an error on one side ends the other. */
export function joinSockets(near: Duplex, far: Duplex, onBytes: (count: number) => void): void {
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on('data', (chunk: Buffer) => onBytes(chunk.length));
    from.on('error', () => to.destroy());
    from.once('close', () => {
      if (!from.readableEnded) to.destroy();
    });
    from.pipe(to);
  }
}
