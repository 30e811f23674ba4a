import type { CutUsage, ModelError, ResolvedModel } from '../../models/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { isRecord } from '../../shared/json.js';
import type { Stop } from '../../workflows/contract.js';
import { ContextOverflow, OverBudget, Poison, StepFailure } from '../errors.js';
  if (settled) markInterrupted(session, turn, { error: 'it was cut off' });
  return putOff(lane, lane.deps.clock.now() + BUDGET_LOOK_MS);
