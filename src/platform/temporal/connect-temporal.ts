import { readFile } from 'node:fs/promises';
import type { Connection } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { errorMessage } from '../../shared/refusal.js';
import { DrainedConnection } from './drained-connection.js';

/**
 * Temporal's address. `tls` names PEM files: the authority that signed its certificate, and our certificate for mutual
 * TLS.
 */
export interface TemporalTarget {
  readonly address: string;
  readonly tls: { readonly ca: string | null; readonly cert: string | null; readonly key: string | null } | null;
}

const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Opens a client's connection, which connects at its first call: a process that only serves the API starts while
 * Temporal is down.
 */
export async function connectTemporal(target: TemporalTarget): Promise<Connection> {
  return DrainedConnection.open({
    address: target.address,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(await tlsOptions(target)),
  });
}

/**
 * Opens a worker's connection. A client on it may start workflows eagerly, on this worker. Throws while Temporal is
 * down.
 */
export async function connectWorker(target: TemporalTarget): Promise<NativeConnection> {
  const { NativeConnection } = await import('@temporalio/worker');
  return NativeConnection.connect({ address: target.address, ...(await tlsOptions(target)) });
}

async function tlsOptions({ tls }: TemporalTarget) {
  if (tls === null) return {};
  const [ca, cert, key] = await Promise.all([tls.ca, tls.cert, tls.key].map(readPem));
  return {
    tls: {
      ...(ca ? { serverRootCACertificate: ca } : {}),
      ...(cert && key ? { clientCertPair: { crt: cert, key } } : {}),
    },
  };
}

async function readPem(file: string | null | undefined): Promise<Buffer | null> {
  if (!file) return null;
  return readFile(file).catch((cause: unknown) => {
    throw new Error(
      `${file} cannot be read (${errorMessage(cause)}): correct TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT or TEMPORAL_TLS_KEY.`,
      { cause },
    );
  });
}
