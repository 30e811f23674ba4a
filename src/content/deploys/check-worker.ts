import { readlinkSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { type JobInput, type JobName, type JobOutput, runJob } from '../../format/index.js';

/** The messages between the pool and its workers. */
export interface WorkRequest<K extends JobName = JobName> {
  readonly name: K;
  readonly input: JobInput<K>;
}
export type WorkReply =
  /** `thread` is what `/proc/thread-self` names; null where there is none. */
  | { readonly kind: 'ready'; readonly thread: string | null }
  | { readonly kind: 'done'; readonly output: JobOutput<JobName> }
  | { readonly kind: 'failed'; readonly message: string };

function reply(message: WorkReply): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', ({ name, input }: WorkRequest) => {
  try {
    reply({ kind: 'done', output: runJob(name, input) });
  } catch (error) {
    reply({ kind: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
// Loading takes longer than most checks, so it does not count towards their time limit.
reply({ kind: 'ready', thread: threadSelf() });

function threadSelf(): string | null {
  try {
    return readlinkSync('/proc/thread-self');
  } catch {
    return null;
  }
}
