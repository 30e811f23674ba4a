import { segments } from '../text/segments.js';

/** True when text after this would be prose, and no open fence or comment would swallow it. */
export function isClosed(markdown: string): boolean {
  const probe = `${markdown}\n\nx`;
  const last = segments(probe).at(-1);
  return last?.kind === 'prose' && last.end === probe.length;
}
