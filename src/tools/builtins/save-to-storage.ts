import { raiseEvent } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { holdBlob, withHeldBlobs } from '../../platform/storage/index.js';
import { BadArgument, optionalString, parameters, stringArg, text } from '../arguments.js';
import type { AgentTool, ToolContext } from '../contract.js';
import { indexStored } from '../lane/keep-step.js';
import { readLaneFile } from '../lane/lane-files.js';
import { MAX_KEPT_FILE } from '../lane/lane-limits.js';
import { ok } from '../outcome.js';
import { toolPath } from '../tool-path.js';

type StorageDeps = Pick<Deps, 'db' | 'blobs' | 'log'>;

export function saveToStorageTool(deps: StorageDeps): AgentTool {
  return {
    ref: 'save_to_storage',
    spec: {
      name: 'save_to_storage',
      description: 'Saves a file permanently under storage/, where people find it and can share it.',
      parameters: parameters(
        {
          path: text('Where to save it, like storage/reports/may.pdf.'),
          from: text('The file to save, under outputs/ or files/.'),
          content: text('Or the text to save.'),
        },
        ['path'],
      ),
    },
    acts: () => true,
    program: false,
    run: async (args, context) => {
      const path = toolPath(stringArg(args, 'path'));
      if (!path.startsWith('storage/'))
        throw new BadArgument(`${path} is not under storage/: give a path like storage/${path}`);
      const content = await contentOf(context, {
        from: optionalString(args, 'from'),
        text: optionalString(args, 'content'),
      });
      // An eval's run changes nothing that outlives it.
      if (context.run.mode !== 'eval') await save(deps, context, { path, content });
      return ok(`saved ${path} (${content.byteLength} bytes)`);
    },
  };
}

async function contentOf(
  { folder, secrets }: ToolContext,
  { from, text: given }: { readonly from: string | undefined; readonly text: string | undefined },
): Promise<Uint8Array> {
  if ((from === undefined) === (given === undefined)) throw new BadArgument('give either "from" or "content"');
  if (from === undefined) return Buffer.from(given ?? '', 'utf8');
  const path = toolPath(from);
  if (!/^(outputs|files)\//.test(path)) throw new BadArgument('"from" names a file under outputs/ or files/');
  const file = await readLaneFile(folder.work, path, MAX_KEPT_FILE);
  if (file === null) throw new BadArgument(`there is no file ${path}`);
  if (file.content === null) throw new BadArgument(`${path} cannot be saved: ${file.why}`);
  return secrets.hide().bytes(file.content);
}

async function save(
  deps: StorageDeps,
  context: ToolContext,
  { path, content }: { readonly path: string; readonly content: Uint8Array },
): Promise<void> {
  const held = await holdBlob(deps, content);
  const { sha } = held;
  await withHeldBlobs(deps, [held], async (sql) => {
    await context.guard(sql);
    const { run, agent } = context;
    await indexStored(sql, context, [{ path, sha, size: content.byteLength }]);
    const body = { path, size: content.byteLength, runId: run.id, flow: run.flow, agent: agent.name };
    await raiseEvent(sql, { workspaceId: run.workspaceId, kind: 'storage.written', body, runId: run.id });
  });
}
