import { addressesIn } from './references.js';

/**
 * What the documents refer to and do not hold yet, the nearest first. The caller reads each address and adds it to the
 * map before it takes the next one, so that what a document refers to is walked as well; `mayRead` bounds the walk.
 */
export function* unreadAddresses(
  documents: ReadonlyMap<string, unknown>,
  mayRead: (address: string, from: string) => boolean,
): Generator<string> {
  // The map grows as it is walked.
  for (const [from, document] of documents) {
    for (const address of addressesIn(document, from)) {
      if (!documents.has(address) && mayRead(address, from)) yield address;
    }
  }
}
