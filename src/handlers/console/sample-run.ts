// The sample run in the console's words.
import { Reply } from '../../api/call.ts';
import type { sampleRunRoutes } from '../../api/sample-run.ts';
import type { SampleRun } from '../../app/sample-runs.ts';
import type { Handlers } from './hub.ts';
import { principalOf } from './principal.ts';

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

export const sampleRun: Handlers<typeof sampleRunRoutes> = {
  makeSampleRun: async ({ app }, _input, caller) =>
    renderSampleRun(await app.sampleRuns.ensure(principalOf(caller))),

  async deleteSampleRun({ app }, _input, caller) {
    await app.sampleRuns.remove(principalOf(caller));
    return { deleted: true };
  },
};
