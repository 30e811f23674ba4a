import { type Readable, Transform } from 'node:stream';
import { withErrorListener } from '../shared/error-listener.js';

export interface Pace {
  /** A reader that takes nothing of what lies there for so long is given up. */
  readonly stalledMs: number;
  /** One that reads on is asked about now and then; true gives it up too. */
  readonly isOver: () => boolean;
  readonly giveUp: () => void;
}

/**
 * Hands a stream on, and watches its reader by what they take and not by the clock: a slow line may take as long as it
 * needs, and one that is dead or held on purpose does not. Time that the source takes is nobody's.
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
