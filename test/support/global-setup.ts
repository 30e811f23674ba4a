import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { dataFolder } from '../../src/platform/embedded/data-folder.js';
import { acquireLock } from '../../src/platform/embedded/instance-lock.js';
import { endOrphans } from '../../src/platform/embedded/process-records.js';
import { startTestPostgres } from './postgres-server.js';
import { NEED_POSTGRES } from './projects.js';
import { startTestTemporal } from './temporal-server.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Of the server itself, for CREATE DATABASE. */
    adminDatabaseUrl: string;
    temporalAddress: string;
  }
}

const PREFIX = 'signalbox-test-';
const NEED_TEMPORAL = new Set(['api', 'workflows', 'e2e']);

/** Starts what the selected projects need, once for all of them; answers how to end it. */
export async function setup(root: TestProject): Promise<() => Promise<void>> {
  const selected = root.vitest.projects.map((project) => project.name);
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  await endAbandoned();
  acquireLock(join(folder, 'lock'), 'a test run');
  const stops: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true, maxRetries: 10 })];
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    if (selected.some((name) => NEED_POSTGRES.has(name))) {
      const postgres = await startTestPostgres(folder);
      stops.push(postgres.stop);
      root.provide('adminDatabaseUrl', postgres.adminDatabaseUrl);
    }
    if (selected.some((name) => NEED_TEMPORAL.has(name))) {
      const temporal = await startTestTemporal(folder);
      stops.push(temporal.stop);
      root.provide('temporalAddress', temporal.address);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

/** A test run that was killed could end nothing: the next one does, and removes its folder. */
async function endAbandoned(): Promise<void> {
  const folders = (await readdir(tmpdir()))
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => join(tmpdir(), name));
  for (const folder of folders.filter((each) => existsSync(join(each, 'lock')))) {
    try {
      acquireLock(join(folder, 'lock'), 'a test run');
    } catch {
      continue;
    }
    for (const part of ['postgres', 'temporal']) await endOrphans(dataFolder(join(folder, part)).processes);
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
