import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The machine's own Chromium; null where there is none, and then the tests that need one do not run. */
export const browserPath =
  (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find(isExecutable) ?? null;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function startBrowser(): Promise<Browser> {
  // Chromium's own sandbox does not start for root, as in most containers.
  return chromium.launch({ executablePath: browserPath ?? '', args: ['--no-sandbox'] });
}
