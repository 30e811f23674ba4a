// npm start: set up what is missing, then be the service. It runs in this very process, so that a signal reaches it
// directly, its exit code is ours, and killing one never leaves the other.
import { pathToFileURL } from 'node:url';
import { inRoot } from './lib/paths.mjs';
import { setUp } from './lib/setup.mjs';

await setUp();
process.setSourceMapsEnabled(true);
const main = inRoot('dist/main.js');
await import(pathToFileURL(main).href);
