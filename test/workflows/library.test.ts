import { expect, test } from 'vitest';
import type { FakeCall } from '../support/fake-provider.js';
import { createPlayedApp } from '../support/played-app.js';

const TOOL = (says: string) =>
  `---\nname: crm\ndescription: Looks up.\nargs:\n  who: Whom.\nrun: library/scripts/crm.sh\n---\n${says}\n`;
const SKILL = '---\nname: plain\ndescription: Plain words, before anything goes out.\n---\nSay it so: see words.md.\n';

test('a run has the tools, skills, documents and memory of the library that it began with, to its end', async () => {
  const results: string[] = [];
  const systems: string[] = [];
  const play = ({ body }: FakeCall) => {
    const messages: { role: string; content: string }[] = body.messages;
    const tools = messages.filter(({ role }) => role === 'tool');
    systems.push(JSON.stringify(messages[0]));
    if (tools.length > 0) {
      results.push(...tools.map(({ content }) => content));
      return { text: 'done' };
    }
    return {
      calls: [
        { name: 'crm', args: { who: 'Ann' } },
        { name: 'load_skill', args: { name: 'plain' } },
        { name: 'Read', args: { path: 'library/memory/seen.md' } },
        { name: 'Write', args: { path: 'library/memory/seen.md', content: 'x' } },
        { name: 'Bash', args: { command: 'cat library/skills/plain/words.md; ls library' } },
        { name: 'Glob', args: { pattern: 'library/**' } },
      ],
    };
  };
  const { app, provider } = await createPlayedApp(play);
  try {
    const shelve = async (path: string, content: string) => {
      const response = await app.put(`/api/library/${path.split('/')[0]}`, { path, content });
      expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
    };
    await shelve('scripts/crm.sh', 'echo "old $ARG_WHO"\n');
    await shelve('tools/crm.md', TOOL('Old.'));
    await shelve('skills/plain/SKILL.md', SKILL);
    await shelve('skills/plain/words.md', 'Old words.\n');
    await shelve('knowledge/house.md', '# House\n\nOld house.\n');
    await shelve('memory/seen.md', 'Seen by all.\n');
    const workspace = await app.workspace({
      'agents/worker.md':
        '---\nname: worker\ndescription: Works.\ntools: [crm, Read, Write, Bash, Glob]\n---\n\nYou work.\n',
      'agents/other/agent.md':
        '---\nname: other\ndescription: Has its own.\ntools: [crm, Read, Write, Bash, Glob]\n---\n\nYou work.\n',
      'agents/other/knowledge/house.md': '# House\n\nOwn house.\n',
      'flows/child.md': '---\nname: child\n---\n\n## Two @worker\n\nFollow [[knowledge/house]].\n',
      'flows/one.md':
        '---\nname: one\n---\n\n## Ask\n\n- approve: human\n\n## Below\n\n- subflow: child\n\n## Own @other\n\nFollow [[knowledge/house]].\n',
    });
    const old = await app.start(workspace, 'one');
    await app.until(workspace, old, ({ status }) => status === 'awaiting-approval');
    await shelve('scripts/crm.sh', 'echo "new $ARG_WHO"\n');
    await shelve('tools/crm.md', TOOL('New.'));
    await shelve('skills/plain/words.md', 'New words.\n');
    await shelve('knowledge/house.md', '# House\n\nNew house.\n');
    await app.post(`/api/workspaces/${workspace}/runs/${old}/approve`, { decision: 'approve' });
    expect((await app.ended(workspace, old)).error).toBe(null);
    const seen = results.splice(0);
    const [crm, skill, read, write, bash, glob] = seen;
    expect(crm).toContain('old Ann');
    expect(skill).toContain('library/skills/plain/words.md');
    expect(read).toContain('Seen by all.');
    expect(write).toContain('not yours to write');
    expect(bash).toContain('Old words.');
    expect(bash).toContain('memory');
    expect(glob).toContain('library/scripts/crm.sh');
    expect(systems[0]).toContain('- plain: Plain words, before anything goes out.');
    expect(systems[0]).not.toContain('Say it so');
    const opened = provider.calls.map(({ prompt }) => prompt);
    expect(opened.some((prompt) => prompt.includes('Old house.'))).toBe(true);
    expect(opened.some((prompt) => prompt.includes('New house.'))).toBe(false);
    expect(opened.some((prompt) => prompt.includes('Own house.'))).toBe(true);
    // Of each name the nearest is listed, under the path where it is read.
    expect(systems.some((text) => text.includes('- agents/other/knowledge/house.md'))).toBe(true);
    expect(systems[0]).toContain('- library/knowledge/house.md');

    // Without a deploy: what begins now has the library of now.
    const next = await app.start(workspace, 'child');
    expect((await app.ended(workspace, next)).error).toBe(null);
    expect(results[0]).toContain('new Ann');
    expect(results[4]).toContain('New words.');
    // A rerun is of the revision, and the library, of its run.
    results.splice(0);
    const again = await app.post(`/api/workspaces/${workspace}/runs/${old}/rerun`, { step: 3 });
    const { runId } = (await again.json()) as { runId: string };
    expect((await app.ended(workspace, runId)).error).toBe(null);
    expect(results[0]).toContain('old Ann');
  } finally {
    await provider.close();
  }
});
