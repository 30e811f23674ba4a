import type { Config } from './config.js';
import { address, type Reader } from './reader.js';

const NEEDED = ['SERVICE_S3_ENDPOINT', 'SERVICE_S3_BUCKET', 'SERVICE_S3_ACCESS_KEY', 'SERVICE_S3_SECRET_KEY'] as const;

/** All four or none: a partial configuration would silently fall back to the disk. */
export function readS3(reader: Reader): Config['s3'] {
  const given = NEEDED.filter((variable) => reader.text(variable) !== null);
  const region = reader.text('SERVICE_S3_REGION');
  if (given.length === 0 && region === null) return null;
  for (const variable of NEEDED) {
    if (reader.text(variable) === null)
      reader.fault(
        variable,
        `is needed beside ${given[0] ?? 'SERVICE_S3_REGION'}: a store is set with all of ${NEEDED.join(', ')}`,
      );
  }
  return {
    endpoint: reader.read('SERVICE_S3_ENDPOINT', address('https://s3.example.com', 'http', 'https'), ''),
    bucket: reader.text('SERVICE_S3_BUCKET') ?? '',
    accessKey: reader.text('SERVICE_S3_ACCESS_KEY') ?? '',
    secretKey: reader.text('SERVICE_S3_SECRET_KEY') ?? '',
    region: region ?? 'us-east-1',
  };
}
