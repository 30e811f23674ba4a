import { openTestDatabase } from './postgres.js';

// Before the test file is read: some open their app at its top.
await openTestDatabase();
