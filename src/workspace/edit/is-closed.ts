import { segments } from '../text/segments.js';

/** Whether text that came after this would be prose: a fence or comment left open would swallow it. */
export function isClosed(markdown: string): boolean {
  const probe = `${markdown}\n\nx`;
  const last = segments(probe).at(-1);
  return last?.kind === 'prose' && last.end === probe.length;
}
