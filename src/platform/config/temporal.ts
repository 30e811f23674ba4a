import type { Config } from './config.js';
import { parsers, type Reader } from './reader.js';

/** Any of the three files means TLS. The config holds the paths; the Temporal connection reads the files. */
export function readTemporal(reader: Reader): Config['temporal'] {
  const ca = reader.text('TEMPORAL_TLS_CA');
  const cert = reader.text('TEMPORAL_TLS_CERT');
  const key = reader.text('TEMPORAL_TLS_KEY');
  if (cert !== null && key === null)
    reader.fault('TEMPORAL_TLS_KEY', 'is needed beside TEMPORAL_TLS_CERT: the path of its private key');
  if (key !== null && cert === null)
    reader.fault('TEMPORAL_TLS_CERT', 'is needed beside TEMPORAL_TLS_KEY: the path of the certificate');
  const named = ca !== null || cert !== null || key !== null;
  const on = reader.read('TEMPORAL_TLS', parsers.flag, named);
  if (named && !on)
    reader.fault(
      'TEMPORAL_TLS',
      'is 0 while files for TLS are set: set it to 1, or unset TEMPORAL_TLS_CA, _CERT and _KEY',
    );
  return {
    address: reader.read('TEMPORAL_ADDRESS', parsers.hostPort, null),
    namespace: reader.text('TEMPORAL_NAMESPACE') ?? 'default',
    taskQueue: reader.text('TEMPORAL_TASK_QUEUE') ?? 'signalbox',
    tls: on ? { ca, cert, key } : null,
  };
}
