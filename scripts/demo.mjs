// npm run demo: set up what is missing, then run the demo.
import { pathToFileURL } from 'node:url';
import { inRoot } from './lib/paths.mjs';
import { setUp } from './lib/setup.mjs';

await setUp();
await import(pathToFileURL(inRoot('scripts/demo/main.mjs')).href);
