import { addressesIn } from './references.js';

/**
 * The addresses that the documents refer to and that are not read yet, the nearest first. The caller reads each
 * document and adds it to the map before it takes the next address, so that its references are walked too. `mayRead`
 * limits the walk.
 */
export function* unreadAddresses(
  documents: ReadonlyMap<string, unknown>,
  mayRead: (address: string, from: string) => boolean,
): Generator<string> {
  // The map grows during this loop.
  for (const [from, document] of documents) {
    for (const address of addressesIn(document, from)) {
      if (!documents.has(address) && mayRead(address, from)) yield address;
    }
  }
}
