import { segments } from '../text/segments.js';

/** Whether text after this would be prose: an open fence or comment would swallow it. */
export function isClosed(markdown: string): boolean {
  const probe = `${markdown}\n\nx`;
  const last = segments(probe).at(-1);
  return last?.kind === 'prose' && last.end === probe.length;
}
