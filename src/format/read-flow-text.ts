import { contentOf, groupsOf, instructionOf, mapFlow } from './edit/flow-map.js';

/** A step as written in its file, for editors. */
export interface FlowTextStep {
  readonly n: number;
  /** 1-based line of its heading. */
  readonly line: number;
  /** The options as written after their colons. */
  readonly options: Readonly<Record<string, string>>;
  /** The instruction, byte for byte. */
  readonly instruction: string;
  /** The schema or form blocks, as written. */
  readonly schemas: readonly string[];
}

export interface FlowText {
  readonly steps: readonly FlowTextStep[];
  /** The numbers of the steps, grouped when they run in parallel. */
  readonly groups: readonly (readonly number[])[];
}

/** The steps as written in a flow's file; null when it cannot be read. */
export function readFlowText(raw: string): FlowText | null {
  const text = raw.replace(/^\uFEFF/, '');
  const map = mapFlow(text);
  if (!map) return null;
  const steps = map.steps.map((step) => {
    const { options, schemas } = contentOf(text, step);
    const instruction = instructionOf(text, step);
    return { n: step.n, line: lineOf(text, step.start), options, instruction, schemas };
  });
  return { steps, groups: groupsOf(map) };
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split(/\r\n|\n|\r/).length;
}
