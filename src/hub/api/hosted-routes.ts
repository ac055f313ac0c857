// Every table of routes of the hosted API in one.

import { hostedAgentRoutes } from '../../agent/hosted/routes.ts';
import { hostedApprovalRoutes } from '../../approval/hosted/routes.ts';
import { hostedAuditRoutes } from '../../audit/hosted/routes.ts';
import { hostedRulesetRoutes } from '../../bundle/hosted/routes.ts';
import { hostedReplayRoutes } from '../../evaluation/hosted/routes.ts';
import { hostedEventRoutes } from '../../event/hosted/routes.ts';
import { routes } from '../../http/contract/route.ts';
import { hostedKeyRoutes } from '../../key/hosted/routes.ts';
import { hostedChannelRoutes } from '../../notification/hosted/routes.ts';
import { hostedEvidenceRoutes } from '../../run/hosted/evidence-routes.ts';
import { hostedRunRoutes } from '../../run/hosted/routes.ts';
import { hostedSampleRunRoutes } from '../../run/hosted/sample-routes.ts';
import { hostedSessionRoutes } from '../../session/hosted/routes.ts';
import { hostedHealthRoutes } from './hosted-health-routes.ts';
import { hostedStreamRoutes } from './hosted-stream-routes.ts';

export const hostedApi = routes({
  ...hostedKeyRoutes,
  ...hostedChannelRoutes,
  ...hostedApprovalRoutes,
  ...hostedEventRoutes,
  ...hostedEvidenceRoutes,
  ...hostedRunRoutes,
  ...hostedAgentRoutes,
  ...hostedSampleRunRoutes,
  ...hostedSessionRoutes,
  ...hostedHealthRoutes,
  ...hostedRulesetRoutes,
  ...hostedReplayRoutes,
  ...hostedAuditRoutes,
  ...hostedStreamRoutes,
});

export type HostedApi = typeof hostedApi;
