export const PATTERNS = ['blank', 'chain', 'parallel', 'route', 'review', 'loop'] as const;
export type Pattern = (typeof PATTERNS)[number];

interface Pieces {
  readonly what: string;
  readonly body: (agent: string) => string;
}

/** The texts of new flows, by pattern. Each deploys and runs as it is, as a start for edits. */
const TEXTS = {
  blank: {
    what: 'Does one thing.',
    body: (agent) => `## Do it @${agent}

Do what the input asks for: {{input}}`,
  },
  chain: {
    what: 'Does one thing after the other.',
    body: (agent) => `## Plan it @${agent}

Say in a few lines how to do this: {{input}}

## Do it @${agent}

Do it as planned.

## Check it @${agent}

Compare what was done with what was asked for. Answer with the final text, faults corrected.`,
  },
  parallel: {
    what: 'Looks at one thing from several sides at once.',
    body: (agent) => `## Look at it

This is what it is about: {{input}}

### What speaks for it @${agent}

List what speaks for it.

### What speaks against it @${agent}

List what speaks against it.

## Bring it together @${agent}

Weigh both lists, and answer in one text.`,
  },
  route: {
    what: 'Finds out what a request is, and does what fits.',
    body: (agent) => `## Sort it @${agent}

- output: json

Is this a question or a task? {{input}}

\`\`\`yaml schema
kind(enum, what it is): [question, task]
\`\`\`

## Answer the question @${agent}

- when: steps.sort_it.data.kind == 'question'

Answer it.

## Do the task @${agent}

- when: steps.sort_it.data.kind == 'task'

Do it, and say what you did.`,
  },
  review: {
    what: 'Makes a draft that a person agrees to or sends back.',
    body: (agent) => `## Draft it @${agent}

Draft what was asked for: {{input}}

## Review it

- approve: human
- edit: [draft_it]
- on_reject: draft_it
- max_rounds: 3

Is the draft good enough to go out? A note says what to change.

## Finish it @${agent}

Answer with the draft as it was agreed to, and nothing else.`,
  },
  loop: {
    what: 'Makes something better until it is good enough.',
    body: (agent) => `## Write it @${agent}

Write what was asked for, or improve it as the feedback says: {{input}}

## Judge it @${agent}

- output: json
- until: steps.judge_it.data.good
- back_to: write_it
- max_rounds: 3
- on_fail: continue

Is the text good enough to go out? If not, say what to improve.

\`\`\`yaml schema
good: boolean, whether it is good enough
better?: string, what to improve
\`\`\`

## Give it @${agent}

Answer with the newest text, and nothing else.`,
  },
} as const satisfies Record<Pattern, Pieces>;

/** The file of a new flow, its steps done by that agent. */
export function flowText(pattern: Pattern, { agent, description }: { agent: string; description?: string }): string {
  const { what, body } = TEXTS[pattern];
  return `---\ndescription: ${JSON.stringify(description ?? what)}\npattern: ${pattern}\ntrigger: manual\n---\n\n${body(agent)}\n`;
}
