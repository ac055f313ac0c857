// Workflow snapshots: how far an agent's workflow has come, as the agent reports it. The hub holds no workflow
// definitions. Pure.
import type { WorkflowSnapshot } from '../record.ts';

/** Name of the stage that ends a workflow. */
const lastStage = 'done';

/** The workflow waits for a person. */
export const asksForApproval = ({ pendingApproval }: WorkflowSnapshot): boolean =>
  pendingApproval.required === true;

/** The workflow came to its end. */
export const isOver = ({ activeStage, completedStages }: WorkflowSnapshot): boolean =>
  (activeStage === '' || activeStage === lastStage) && completedStages.length > 0;
