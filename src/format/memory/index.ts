export { describeDocument, readMemory } from './read-memory.js';
export { type MemoryStamp, stampMemory } from './stamp-memory.js';
