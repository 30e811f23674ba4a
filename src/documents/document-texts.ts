interface Wish {
  readonly description?: string | undefined;
}

export function agentText({ description = 'Helps with whatever is asked.' }: Wish): string {
  return `---\ndescription: ${JSON.stringify(description)}\n---\n\nYou do what the step asks for, briefly and exactly. Say so when something that you need is missing.\n`;
}
