import { chmod, chown, mkdir, open } from 'node:fs/promises';
import type { Server } from 'node:net';
import { join } from 'node:path';

/**
 * Makes a server listen on a socket in a new folder that only the programs' user may use. A socket's address holds
 * 108 bytes at most: on Linux it is named by its folder's handle, however deep that lies.
 */
export async function listenInFolder(server: Server, folder: string, uid: number | null): Promise<string> {
  await mkdir(folder, { mode: 0o711 });
  await chmod(folder, 0o711);
  const handle = process.platform === 'linux' ? await open(folder, 'r') : null;
  try {
    const path = handle === null ? join(folder, 'socket') : `/proc/self/fd/${handle.fd}/socket`;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => resolve());
    });
  } finally {
    await handle?.close();
  }
  const socket = join(folder, 'socket');
  await chmod(socket, 0o600);
  if (uid !== null) await chown(socket, uid, uid);
  return socket;
}
