// The sample run in the hosted API's words.
import { Reply } from '../../api/call.ts';
import type { hostedSampleRunRoutes } from '../../api/hosted/sample-run.ts';
import type { Handlers } from '../common/hub.ts';
import { principalOf } from './principal.ts';

export const hostedSampleRun: Handlers<typeof hostedSampleRunRoutes> = {
  async hostedSampleRun(hub, _input, caller) {
    const { created, agentId, sessionId, runId, rulesetName, approvalId } = await hub.app.sampleRuns.ensure(
      principalOf(caller),
    );
    const body = {
      agent_id: agentId,
      session_id: sessionId,
      run_id: runId,
      ruleset_name: rulesetName,
      approval_id: approvalId,
    };
    return new Reply(body, { status: created ? 201 : 200 });
  },

  async hostedDeleteSampleRun(hub, _input, caller) {
    await hub.app.sampleRuns.remove(principalOf(caller));
    return { deleted: true };
  },
};
