import { type Catalog, layersOf } from './catalog.js';

/** The path of a knowledge file that an agent pins by its path under knowledge/, `.md` left out; the nearest. */
export function findPinned(catalog: Catalog, agent: string, pin: string): string | undefined {
  const path = pin.replace(/^knowledge\//, '').replace(/\.md$/, '');
  for (const layer of layersOf(agent)) {
    const found = `${layer}knowledge/${path}.md`;
    if (catalog.files.has(found)) return found;
  }
  return undefined;
}
