import { constants, copyFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The path of the proxy's socket inside the sandbox. */
export const PROXY_SOCKET = '/run/network.sock';
/** The path of the relay's Node inside the sandbox, if it is not in a system folder that programs see. */
const RELAY_NODE = '/run/node';
const PORT = 3128;

/**
 * Programs expect a proxy on TCP. The relay listens on the namespace's loopback and forwards to the proxy's socket. It
 * enforces nothing: a program may kill it or use the socket directly.
 */
const RELAY = `const net=require('node:net');
net.createServer({allowHalfOpen:true},(a)=>{const b=net.connect({path:'${PROXY_SOCKET}',allowHalfOpen:true});
for(const [x,y] of [[a,b],[b,a]]){x.on('error',()=>y.destroy());x.once('close',()=>{if(!x.readableEnded)y.destroy()});x.pipe(y)}
}).listen(${PORT},'127.0.0.1',()=>console.log('ready'))`;

const PROXY = `http://127.0.0.1:${PORT}`;
const NONE = 'localhost,127.0.0.1,::1';

/** The proxy variables of curl, wget, Python, git and npm; and of Node, which reads them only when asked to. */
export const PROXY_ENV: Readonly<Record<string, string>> = {
  ...{ HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, http_proxy: PROXY, https_proxy: PROXY },
  ...{ NO_PROXY: NONE, no_proxy: NONE, NODE_USE_ENV_PROXY: '1' },
};

/** Bash code that starts the relay, waits until it listens, and leaves no descriptor of it to the program. */
export function relayScript(node: string): string {
  const start = `exec env -i UV_THREADPOOL_SIZE=1 ${quoted(node)} --v8-pool-size=0 -e ${quoted(RELAY)}`;
  return `exec 3< <(${start} </dev/null 2>/dev/null) && read -r _ <&3 && exec 3<&- || { echo 'the network relay could not be started' >&2; exit 126; }; `;
}

/** The Node that runs the relay: this process's own, at a path where programs do not look for it. */
export interface RelayNode {
  readonly inside: string;
  readonly mounts: readonly { readonly host: string; readonly inside: string }[];
}

/** A root worker's Node may be in a folder that its programs' user cannot enter. Then the relay runs a copy. */
export async function prepareRelay(folder: string, uid: number | null): Promise<RelayNode> {
  const host = process.execPath;
  if (host.startsWith('/usr/')) return { inside: host, mounts: [] };
  if (uid === null) return { inside: RELAY_NODE, mounts: [{ host, inside: RELAY_NODE }] };
  const copy = join(folder, `node-${process.version}`);
  if (await stat(copy).catch(() => null)) return { inside: RELAY_NODE, mounts: [{ host: copy, inside: RELAY_NODE }] };
  const own = `${copy}.${process.pid}`;
  await copyFile(host, own, constants.COPYFILE_FICLONE);
  await rename(own, copy);
  return { inside: RELAY_NODE, mounts: [{ host: copy, inside: RELAY_NODE }] };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
