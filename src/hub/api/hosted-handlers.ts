// Every handler of the hosted API by operation name; a route of src/hub/api/hosted-routes.ts that lacks one does not
// compile.

import { hostedAgents } from '../../agent/hosted/handlers.ts';
import { hostedApprovals } from '../../approval/hosted/handlers.ts';
import { hostedAudit } from '../../audit/hosted/handlers.ts';
import { hostedRulesets } from '../../bundle/hosted/handlers.ts';
import { hostedReplays } from '../../evaluation/hosted/handlers.ts';
import { hostedEvents } from '../../event/hosted/handlers.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { hostedKeys } from '../../key/hosted/handlers.ts';
import { hostedChannels } from '../../notification/hosted/handlers.ts';
import { hostedEvidence } from '../../run/hosted/evidence-handlers.ts';
import { hostedRuns } from '../../run/hosted/handlers.ts';
import { hostedSampleRun } from '../../run/hosted/sample-handlers.ts';
import { hostedSessions } from '../../session/hosted/handlers.ts';
import { hostedHealth } from './hosted-health-handlers.ts';
import type { hostedApi } from './hosted-routes.ts';

export const hostedHandlers: Handlers<typeof hostedApi> = {
  ...hostedKeys,
  ...hostedChannels,
  ...hostedApprovals,
  ...hostedEvents,
  ...hostedEvidence,
  ...hostedRuns,
  ...hostedAgents,
  ...hostedSampleRun,
  ...hostedSessions,
  ...hostedHealth,
  ...hostedRulesets,
  ...hostedReplays,
  ...hostedAudit,
};
