import { createHash, randomBytes } from 'node:crypto';
import type { PushKept, PushPassed } from '../../contract/code-host.js';
import type { Deps } from '../../deps.js';
import { readText } from '../../secrets/index.js';
import { decodeContent } from '../../shared/content-coding.js';
import { hmacSha256, isSameMac } from '../../shared/hmac.js';
import type { Json } from '../../shared/json.js';
import { pathFault } from '../../shared/path-fault.js';
import { Refusal } from '../../shared/refusal.js';
import { deliveryId, fromHex, isStandard, readDelivered, standardWebhooks } from '../../triggers/index.js';
import { type CodePush, HOSTS, hostOf, PayloadFault } from './hosts/index.js';
import { noteUnsigned, storePush } from './push-rows.js';

const SIGNATURES = ['x-hub-signature-256', 'x-gitea-signature', 'x-forgejo-signature', 'x-gogs-signature'] as const;

/** The ways in which code hosts prove that they have the secret. One is enough. */
const PROOFS: readonly Proof[] = [
  ...SIGNATURES.map((name) => hexHeader(name, name === 'x-hub-signature-256' ? 'sha256=' : '')),
  // GitLab sends the secret itself. Both are hashed first, so that not even its length can be measured.
  ({ header }, secret) => {
    const key = randomBytes(32);
    return isSameMac(hmacSha256(key, secret), hmacSha256(key, header('x-gitlab-token') ?? ''));
  },
  (sent, secret) => isStandard(sent) && standardWebhooks({ ...sent, secret }),
];

const WEBHOOK_SECRET = 'GIT_WEBHOOK_SECRET';

interface PushDelivery {
  readonly tenant: string;
  readonly workspace: string;
  /** The branch that is deployed. */
  readonly branch: string;
  /** The folder of the repository that holds the workspace; empty for all of it. */
  readonly dir: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** As received: signatures are over these bytes, whatever their Content-Encoding. */
  readonly body: Uint8Array;
  /** Of the body, as received and decoded. */
  readonly maxBytes: number;
  readonly address: string | null;
  /** The fault of the URL's query, reported to authenticated senders only. */
  readonly fault?: Refusal | null;
}

/**
 * Receives a push event of a code host: checks its signature over the raw bytes before it parses anything, stores the
 * push and answers at once, since code hosts wait ten seconds at most. `beginPushes` deploys it.
 */
export async function receiveCodePush(deps: Deps, sent: PushDelivery): Promise<PushKept | PushPassed> {
  const header = (name: string) => sent.headers[name];
  const workspaceId = await proveWorkspace(deps, sent);
  if (sent.fault) throw sent.fault;
  const dir = readDir(sent.dir);
  const host = hostOf(header);
  if (host === null)
    throw new Refusal('refused', 'this is not an event of GitHub, GitLab or Gitea: no header names its kind');
  const body = await decodeContent(sent.body, { header: header('content-encoding'), maxBytes: sent.maxBytes });
  const { value: payload } = await readDelivered({ type: header('content-type') ?? '', body });
  const event = readEvent(host, payload);
  if (event.kind === 'ping') return { ok: true, ping: true };
  if (event.kind === 'other') return { ok: true, skipped: `${event.name} is not a push` };
  if (event.ref !== `refs/heads/${sent.branch}`)
    return { ok: true, skipped: `${event.ref} is not the branch ${sent.branch}` };
  if (event.commit === null) return { ok: true, skipped: `the branch ${sent.branch} was deleted` };
  const id = deliveryId({ dedupe: undefined, signature: null }, { header, body: () => payload });
  return keep(deps, { ...sent, dir }, { workspaceId, host: host.kind, push: event, commit: event.commit, id });
}

/**
 * Refuses a request without a signature, or with a wrong token, before its body is read. A signature is checked later,
 * since it needs the body.
 */
export async function requireProofHeader(
  deps: Deps,
  sent: Pick<PushDelivery, 'tenant' | 'workspace' | 'headers' | 'address'>,
): Promise<void> {
  if (!hasSignature((name) => sent.headers[name])) await proveWorkspace(deps, { ...sent, body: new Uint8Array() });
}

interface Accepted {
  readonly workspaceId: string;
  readonly host: keyof typeof HOSTS;
  readonly push: CodePush;
  readonly commit: string;
  readonly id: string | null;
}

async function keep(
  deps: Deps,
  sent: PushDelivery,
  { workspaceId, host, push, commit, id }: Accepted,
): Promise<PushKept | PushPassed> {
  const { message, authors, repository } = push;
  const kept = await deps.db.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM workspace WHERE id = $1 FOR SHARE', [workspaceId]);
    return storePush(sql, {
      workspaceId,
      host,
      // A host may send one delivery id to several URLs of a workspace.
      deliveryKey: id === null ? null : digest([sent.branch, sent.dir, id]),
      repository: repository.url,
      archiveUrl: repository.archiveUrl(commit),
      branch: sent.branch,
      dir: sent.dir,
      commit,
      message,
      authors,
      address: sent.address,
    });
  });
  return { ok: true, id: kept.id, commit, ...(kept.duplicate && { duplicate: true }) };
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

type Unread = Pick<PushDelivery, 'tenant' | 'workspace' | 'headers' | 'body' | 'address'>;

/** Refuses alike a wrong signature, an unknown workspace or account, a preview, and a workspace without the secret. */
async function proveWorkspace(deps: Deps, sent: Unread): Promise<string> {
  const workspace = await findByPath(deps, sent);
  const secret = workspace === null ? null : await openText(deps, { ...workspace, name: WEBHOOK_SECRET });
  const header = (name: string) => sent.headers[name];
  if (isProven({ header, body: sent.body, nowMs: deps.clock.now() }, secret) && workspace !== null) return workspace.id;
  if (workspace !== null) {
    deps.log.warn({ tenant: sent.tenant, workspace: sent.workspace, address: sent.address }, 'invalid-signature');
    await noteUnsigned(deps.db, workspace.id, sent.address);
  }
  throw new Refusal('unauthenticated', 'the signature is not valid here', { code: 'invalid-signature' });
}

async function findByPath(
  { db }: Pick<Deps, 'db'>,
  { tenant, workspace }: Unread,
): Promise<{ readonly id: string; readonly tenant: string } | null> {
  // Postgres rejects some names, such as those with NUL.
  if ([tenant, workspace].some((name) => !/^[\w.-]{1,255}$/.test(name))) return null;
  const [row] = await db.query<{ id: string; tenant: string }>({
    name: 'find-pushed-workspace',
    text: 'SELECT id, tenant_id AS tenant FROM workspace WHERE tenant_id = $1 AND name = $2 AND preview_of IS NULL',
    values: [tenant, workspace],
  });
  return row ?? null;
}

/** A secret's text; null when it is missing, cannot be opened or is not text. */
async function openText(
  deps: Deps,
  at: { readonly id: string; readonly tenant: string; readonly name: string },
): Promise<string | null> {
  const place = { tenant: at.tenant, workspace: at.id, name: at.name };
  try {
    const found = await readText(deps, place);
    if (found.kind === 'text') return found.text;
    if (found.kind === 'unusable')
      deps.log.warn({ workspaceId: at.id, secret: at.name }, `the secret of a code host’s push ${found.why}`);
  } catch (err) {
    deps.log.warn({ err, workspaceId: at.id, secret: at.name }, 'failed to read the secret of a code host’s push');
  }
  return null;
}

function readDir(dir: string): string {
  const path = dir.replace(/^\/+|\/+$/g, '');
  const fault = path === '' ? null : pathFault(path);
  if (fault !== null) throw new Refusal('refused', `dir: the path ${fault}`, { code: 'file/bad-path' });
  return path;
}

function readEvent({ kind, event }: NonNullable<ReturnType<typeof hostOf>>, payload: Json) {
  try {
    return HOSTS[kind].read(event, payload);
  } catch (error) {
    if (error instanceof PayloadFault)
      throw new Refusal('refused', `invalid ${event} payload of ${HOSTS[kind].label}: ${error.message}`);
    throw error;
  }
}

interface Unproven {
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
  /** Epoch ms. */
  readonly nowMs: number;
}

type Proof = (sent: Unproven, secret: string) => boolean;

/** Checks the body's HMAC-SHA256 in hex in this header, with or without a prefix. */
function hexHeader(name: string, prefix = ''): Proof {
  return ({ header, body }, secret) => {
    const given = header(name);
    return (
      given?.startsWith(prefix) === true && isSameMac(hmacSha256(secret, body), fromHex(given.slice(prefix.length)))
    );
  };
}

/** Whether a header has a signature, which can only be checked with the body. */
function hasSignature(header: (name: string) => string | undefined): boolean {
  return SIGNATURES.some((name) => header(name) !== undefined) || isStandard({ header });
}

/** Whether the sender has the secret. False for null, after the same work, so that timing reveals nothing. */
function isProven(sent: Unproven, secret: string | null): boolean {
  const key = secret ?? randomBytes(16).toString('hex');
  const proven = PROOFS.map((proof) => proof(sent, key)).includes(true);
  // An empty secret proves nothing.
  return proven && secret !== null && secret !== '';
}
