// Every table of routes in one: the router, the OpenAPI document and the typed client read it. Operation names are
// unique.

import { agentRoutes } from '../../agent/console/routes.ts';
import { ruleRoutes } from '../../agent/console/rule-routes.ts';
import { agentTimelineRoutes } from '../../agent/console/timeline-routes.ts';
import { approvalRoutes } from '../../approval/console/routes.ts';
import { aiRoutes } from '../../assistant/console/routes.ts';
import { bundleRoutes } from '../../bundle/console/routes.ts';
import { compositionRoutes } from '../../composition/console/routes.ts';
import { contractRoutes } from '../../contract/console/routes.ts';
import { impactRoutes } from '../../deployment/console/impact-routes.ts';
import { deploymentRoutes } from '../../deployment/console/routes.ts';
import { explainRoutes } from '../../evaluation/console/explain-routes.ts';
import { replayRoutes } from '../../evaluation/console/replay-routes.ts';
import { evaluateRoutes } from '../../evaluation/console/routes.ts';
import { toolSettingRoutes } from '../../evaluation/console/tool-routes.ts';
import { removalRoutes } from '../../event/console/removal-routes.ts';
import { eventRoutes } from '../../event/console/routes.ts';
import { exportRoutes } from '../../export/console/routes.ts';
import { routes } from '../../http/contract/route.ts';
import { keyRoutes } from '../../key/console/routes.ts';
import { callbackRoutes } from '../../notification/console/callback-routes.ts';
import { jobRoutes } from '../../notification/console/job-routes.ts';
import { channelRoutes } from '../../notification/console/routes.ts';
import { sampleRunRoutes } from '../../run/console/routes.ts';
import { runTimelineRoutes } from '../../run/console/timeline-routes.ts';
import { searchRoutes } from '../../search/console/routes.ts';
import { sessionRoutes } from '../../session/console/routes.ts';
import { signingRoutes } from '../../signing/console/routes.ts';
import { environmentRoutes } from '../../tenant/console/environment-routes.ts';
import { operatorRoutes } from '../../tenant/console/operator-routes.ts';
import { retentionRoutes } from '../../tenant/console/retention-routes.ts';
import { setupRoutes } from '../../tenant/console/setup-routes.ts';
import { toolRoutes } from '../../tool/console/routes.ts';
import { coverageRoutes } from '../../usage/console/coverage-routes.ts';
import { overviewRoutes } from '../../usage/console/routes.ts';
import { authRoutes } from '../../user/console/login-routes.ts';
import { oidcRoutes } from '../../user/console/oidc-routes.ts';
import { operatorUserRoutes } from '../../user/console/operator-routes.ts';
import { userRoutes } from '../../user/console/routes.ts';
import { serviceAccountRoutes } from '../../user/console/service-routes.ts';
import { loginSessionRoutes } from '../../user/console/session-routes.ts';
import { operatorTokenRoutes } from '../../user/console/token-routes.ts';
import { viewRoutes } from '../../view/console/routes.ts';
import { healthRoutes } from './health-routes.ts';
import { streamRoutes } from './stream-routes.ts';

export const api = routes({
  ...setupRoutes,
  ...authRoutes,
  ...oidcRoutes,
  ...userRoutes,
  ...loginSessionRoutes,
  ...serviceAccountRoutes,
  ...operatorRoutes,
  ...operatorUserRoutes,
  ...jobRoutes,
  ...operatorTokenRoutes,
  ...healthRoutes,
  ...keyRoutes,
  ...contractRoutes,
  ...compositionRoutes,
  ...bundleRoutes,
  ...deploymentRoutes,
  ...impactRoutes,
  ...replayRoutes,
  ...evaluateRoutes,
  ...explainRoutes,
  ...eventRoutes,
  ...exportRoutes,
  ...searchRoutes,
  ...viewRoutes,
  ...sampleRunRoutes,
  ...approvalRoutes,
  ...sessionRoutes,
  ...agentRoutes,
  ...agentTimelineRoutes,
  ...runTimelineRoutes,
  ...coverageRoutes,
  ...ruleRoutes,
  ...toolRoutes,
  ...signingRoutes,
  ...toolSettingRoutes,
  ...removalRoutes,
  ...retentionRoutes,
  ...environmentRoutes,
  ...overviewRoutes,
  ...aiRoutes,
  ...channelRoutes,
  ...callbackRoutes,
  ...streamRoutes,
});

export type Api = typeof api;
