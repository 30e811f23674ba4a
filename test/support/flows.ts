import type { Tree } from './workspace-app.js';

const SETTINGS = '---\nmodels: { default: scripted/demo }\n---\n\nBe brief.\n';

/** A workspace of one agent, `worker`, that says what the script says. */
export function scripted(script: string, files: Tree = {}, frontmatter = ''): Tree {
  return {
    'AGENTS.md': SETTINGS,
    'agents/worker/agent.md': `---\nname: worker\ndescription: Works.\n${frontmatter}---\n\nYou work.\n`,
    'agents/worker/script.yaml': script,
    ...files,
  };
}

/** A flow file of that body. */
export function flow(body: string, frontmatter = ''): string {
  return `---\ndescription: A flow of the tests.\n${frontmatter}---\n\n${body}\n`;
}
