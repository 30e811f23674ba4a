// npm run doctor: set up what is missing, then audit a running installation. It runs in this very process, so its exit
// code is ours.
import { pathToFileURL } from 'node:url';
import { inRoot } from './lib/paths.mjs';
import { prepareService, setUp } from './lib/setup.mjs';

await setUp([prepareService]);
process.setSourceMapsEnabled(true);
await import(pathToFileURL(inRoot('dist/doctor.js')).href);
