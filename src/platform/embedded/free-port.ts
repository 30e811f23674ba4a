import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range of outgoing connections (32768 on Linux, 49152 elsewhere), where a connection could take the port
 * before the server listens on it.
 */
const FROM = 20_000;
const TO = 32_768;
const TRIES = 20;

/** A free TCP port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  for (let left = TRIES; left > 0; left -= 1) {
    const port = await listenOnce(randomInt(FROM, TO)).catch(() => null);
    if (port !== null) return port;
  }
  return listenOnce(0);
}

/** Listens on the port and stops. Returns the port. */
function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
