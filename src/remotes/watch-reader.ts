import { type Readable, Transform } from 'node:stream';
import { withErrorListener } from '../shared/error-listener.js';

export interface Pace {
  /** A reader that reads none of the available bytes for this time is cut off. */
  readonly stalledMs: number;
  /** Polled while the reader is active; true cuts it off too. */
  readonly isOver: () => boolean;
  readonly giveUp: () => void;
}

/**
 * Passes a stream on and watches its reader's progress instead of the total time: a slow line may take as long as it
 * needs, a dead or stalled one is cut off. Time that the source takes does not count.
 */
export function watchReader(source: Readable, { stalledMs, isOver, giveUp }: Pace): Readable {
  let given = 0;
  let seen = { taken: 0, at: Date.now() };
  const out = withErrorListener(
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        given += chunk.byteLength;
        done(null, chunk);
      },
    }),
  );
  const watch = setInterval(() => {
    const taken = given - out.readableLength;
    if (taken !== seen.taken || out.readableLength === 0) seen = { taken, at: Date.now() };
    if (Date.now() - seen.at >= stalledMs || isOver()) giveUp();
  }, stalledMs / 8);
  out.once('close', () => {
    clearInterval(watch);
    source.destroy();
  });
  source.once('error', (error) => out.destroy(error));
  return source.pipe(out);
}
