import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlQuery,
  type SqlResultSet,
} from '@prisma/driver-adapter-utils';
import type { SchemaEngine } from '@prisma/schema-engine-wasm';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { withErrorListener } from '../../shared/error-listener.js';
import { errorMessage } from '../../shared/refusal.js';
import { clientConfig } from './pool.js';

interface EngineExports {
  readonly __wbindgen_start: () => void;
}

/** The engine reports a panic here before it traps. The promise of the call then never settles. */
declare global {
  var PRISMA_WASM_PANIC_REGISTRY: { set_message(message: string): void } | undefined;
}

/** The part of the global that is used here. TypeScript has its types only in the library for browsers. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: EngineExports } }>;
};

let loading: Promise<void> | undefined;

/** Loads the engine by hand: the package's own entry imports a `.wasm` file, which Node 20 cannot. */
function loadEngine(): Promise<void> {
  loading ??= (async () => {
    const file = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
    const bytes = await readFile(file.replace(/\.js$/, '.wasm'));
    const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': bindings });
    (bindings as unknown as { __wbg_set_wasm(wasm: EngineExports): void }).__wbg_set_wasm(instance.exports);
    instance.exports.__wbindgen_start();
  })();
  return loading;
}

interface Target {
  readonly url: string;
  readonly ca: string | null;
}
type Adapter = Awaited<ReturnType<PrismaPg['connect']>>;

/**
 * A connection that runs scripts whole. The adapter itself splits them at each `;`, even inside a string or a function.
 */
async function connectWhole(target: Target, onDispose?: () => Promise<void>): Promise<Adapter> {
  const pool = withErrorListener(new pg.Pool({ ...clientConfig(target), max: 2 }));
  markCharColumns(pool);
  const adapter = await new PrismaPg(pool, { disposeExternalPool: true }).connect();
  const { queryRaw, dispose } = adapter;
  return Object.assign(adapter, {
    queryRaw: async (query: SqlQuery) => readCharColumns(await queryRaw.call(adapter, query)),
    async executeScript(script: string) {
      // One simple-protocol message is one implicit transaction, so half a migration is never left behind.
      await pool.query(script);
    },
    async dispose() {
      await dispose.call(adapter);
      await onDispose?.();
    },
  });
}

// The catalogue has columns of Postgres's one-byte type "char". The engine wants them as characters, and the adapter of
// 7.10 knows no name for the type and throws: they pass it as text under a marked name.
const CHAR_MARK = '\u0000char';

function markCharColumns(pool: pg.Pool): void {
  const query = pool.query.bind(pool) as (config: pg.QueryConfig) => Promise<pg.QueryResult>;
  const marked = async (config: pg.QueryConfig) => {
    const result = await query(config);
    for (const field of result.fields ?? []) {
      if (field.dataTypeID !== pg.types.builtins.CHAR) continue;
      field.dataTypeID = pg.types.builtins.TEXT;
      field.name += CHAR_MARK;
    }
    return result;
  };
  Object.assign(pool, { query: marked });
}

function readCharColumns(result: SqlResultSet): SqlResultSet {
  const isChar = result.columnNames.map((name) => name.endsWith(CHAR_MARK));
  return {
    ...result,
    columnNames: result.columnNames.map((name) => name.replace(CHAR_MARK, '')),
    columnTypes: result.columnTypes.map((type, index) => (isChar[index] ? ColumnTypeEnum.Character : type)),
  };
}

/** Creates an empty shadow database, in which migrations are applied to find the schema that they result in. */
async function connectToShadow(target: Target): Promise<Adapter> {
  const name = `shadow_${randomUUID()}`;
  const main = await connectWhole(target);
  await main.executeScript(`CREATE DATABASE "${name}"`);
  const url = new URL(target.url);
  url.pathname = `/${name}`;
  return connectWhole({ ...target, url: url.href }, async () => {
    await main.executeScript(`DROP DATABASE "${name}" WITH (FORCE)`);
    await main.dispose();
  });
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Prisma's schema engine (WebAssembly) over one database, for as long as `work` runs. Calls take turns: two at the same
 * time in the process's one instance would trap.
 */
export function withSchemaEngine<T>(target: Target, work: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  const turn = last.then(() => useEngine(target, work));
  last = turn.catch(() => undefined);
  return turn;
}

async function useEngine<T>(target: Target, work: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  await loadEngine();
  const open: Adapter[] = [];
  const keep = async (adapter: Promise<Adapter>): Promise<Adapter> => {
    open.push(await adapter);
    return adapter;
  };
  const bound = bindMigrationAwareSqlAdapterFactory({
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect: () => keep(connectWhole(target)),
    connectToShadowDb: () => connectToShadow(target),
  });
  const panicked = new Promise<never>((_resolve, reject) => {
    globalThis.PRISMA_WASM_PANIC_REGISTRY = { set_message: (message) => reject(new Error(message)) };
  });
  try {
    const engine = bindings.SchemaEngine.new({ datamodels: undefined }, () => undefined, bound);
    return await Promise.race([engine.then(work), panicked]);
  } catch (error) {
    throw new Error(`the schema engine failed: ${errorMessage(error)}`, { cause: error });
  } finally {
    for (const adapter of open) await adapter.dispose();
  }
}
