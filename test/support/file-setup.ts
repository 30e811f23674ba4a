import { afterAll } from 'vitest';
import { endFile } from './file-end.js';

// Read anew for each test file: what the file's support opened is closed after the file's own hooks.
afterAll(endFile);
