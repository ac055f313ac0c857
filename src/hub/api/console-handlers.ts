// Every handler by operation name; a route of src/hub/api/console-routes.ts that lacks one does not compile. Stream
// routes are in stream-routes.ts.

import { agents } from '../../agent/console/handlers.ts';
import { rules } from '../../agent/console/rule-handlers.ts';
import { agentTimelines } from '../../agent/console/timeline-handlers.ts';
import { approvals } from '../../approval/console/handlers.ts';
import { ai } from '../../assistant/console/handlers.ts';
import { bundles } from '../../bundle/console/handlers.ts';
import { compositions } from '../../composition/console/handlers.ts';
import { contracts } from '../../contract/console/handlers.ts';
import { deployments } from '../../deployment/console/handlers.ts';
import { impact } from '../../deployment/console/impact-handlers.ts';
import { explanations } from '../../evaluation/console/explain-handlers.ts';
import { evaluate } from '../../evaluation/console/handlers.ts';
import { replay } from '../../evaluation/console/replay-handlers.ts';
import { toolSettings } from '../../evaluation/console/tool-handlers.ts';
import { events } from '../../event/console/handlers.ts';
import { eventRemoval } from '../../event/console/removal-handlers.ts';
import { exports } from '../../export/console/handlers.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { keys } from '../../key/console/handlers.ts';
import { callbacks } from '../../notification/console/callback-handlers.ts';
import { channels } from '../../notification/console/handlers.ts';
import { deadJobs } from '../../notification/console/job-handlers.ts';
import { sampleRun } from '../../run/console/handlers.ts';
import { runTimelines } from '../../run/console/timeline-handlers.ts';
import { searches } from '../../search/console/handlers.ts';
import { sessions } from '../../session/console/handlers.ts';
import { signing } from '../../signing/console/handlers.ts';
import { environments } from '../../tenant/console/environment-handlers.ts';
import { operator } from '../../tenant/console/operator-handlers.ts';
import { retention } from '../../tenant/console/retention-handlers.ts';
import { setup } from '../../tenant/console/setup-handlers.ts';
import { tools } from '../../tool/console/handlers.ts';
import { coverage } from '../../usage/console/coverage-handlers.ts';
import { overview } from '../../usage/console/handlers.ts';
import { users } from '../../user/console/handlers.ts';
import { auth } from '../../user/console/login-handlers.ts';
import { oidc } from '../../user/console/oidc-handlers.ts';
import { operatorUsers } from '../../user/console/operator-handlers.ts';
import { serviceAccounts } from '../../user/console/service-handlers.ts';
import { loginSessions } from '../../user/console/session-handlers.ts';
import { operatorTokens } from '../../user/console/token-handlers.ts';
import { views } from '../../view/console/handlers.ts';
import type { api } from './console-routes.ts';
import { health } from './health-handlers.ts';

export const handlers: Handlers<typeof api> = {
  ...setup,
  ...auth,
  ...oidc,
  ...users,
  ...loginSessions,
  ...serviceAccounts,
  ...operator,
  ...operatorUsers,
  ...deadJobs,
  ...operatorTokens,
  ...health,
  ...keys,
  ...contracts,
  ...compositions,
  ...bundles,
  ...deployments,
  ...impact,
  ...replay,
  ...evaluate,
  ...explanations,
  ...events,
  ...exports,
  ...searches,
  ...views,
  ...sampleRun,
  ...approvals,
  ...sessions,
  ...agents,
  ...agentTimelines,
  ...runTimelines,
  ...coverage,
  ...rules,
  ...tools,
  ...signing,
  ...toolSettings,
  ...eventRemoval,
  ...retention,
  ...environments,
  ...overview,
  ...ai,
  ...channels,
  ...callbacks,
};
