// npm run rotate-keys: set up what is missing, then wrap every secret under the first install key, in this very process.
import { pathToFileURL } from 'node:url';
import { inRoot } from './lib/paths.mjs';
import { prepareService, setUp } from './lib/setup.mjs';

await setUp([prepareService]);
process.setSourceMapsEnabled(true);
await import(pathToFileURL(inRoot('dist/rotate-keys.js')).href);
