import { parentPort } from 'node:worker_threads';
import { type CheckContext, type Checked, checkTree, type SourceFile } from '../workspace/index.js';

/** What the pool asks of its workers, and what they answer. */
export interface CheckRequest {
  readonly files: readonly SourceFile[];
  readonly context: CheckContext;
  readonly library: readonly SourceFile[];
}
export type CheckReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'checked'; readonly checked: Checked }
  | { readonly kind: 'failed'; readonly message: string };

function reply(message: CheckReply): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', ({ files, context, library }: CheckRequest) => {
  try {
    reply({ kind: 'checked', checked: checkTree(files, context, library) });
  } catch (error) {
    reply({ kind: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
// Loading takes longer than most checks, and is not counted against them.
reply({ kind: 'ready' });
