import { type Catalog, layersOf } from './catalog.js';

/** The path of a pinned knowledge file. A pin is the path below knowledge/, without `.md`; the nearest wins. */
export function findPinned(catalog: Catalog, agent: string, pin: string): string | undefined {
  const path = pin.replace(/^knowledge\//, '').replace(/\.md$/, '');
  for (const layer of layersOf(agent)) {
    const found = `${layer}knowledge/${path}.md`;
    if (catalog.files.has(found)) return found;
  }
  return undefined;
}
