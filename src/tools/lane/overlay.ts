import { dirname, join } from 'node:path';
import type { ToolContext } from '../contract.js';

/** Where an eval's run keeps what it writes to memory: all its lanes see it, and it is dropped with the run. */
export function overlayFolder({ folder }: Pick<ToolContext, 'folder'>): string {
  return join(dirname(folder.root), '.overlay');
}
