// The answer of a request for the sample run, which is the same on both APIs.
import { Reply } from '../../http/contract/call.ts';
import type { SampleRun } from '../use-cases/samples.ts';

/** 201 when it was made now. */
export function renderSampleRun(run: SampleRun & { readonly created: boolean }) {
  const body = {
    agent_id: run.agentId,
    session_id: run.sessionId,
    run_id: run.runId,
    ruleset_name: run.rulesetName,
    approval_id: run.approvalId,
  };
  return new Reply(body, { status: run.created ? 201 : 200 });
}
