// Every table of routes of the hosted API in one.
import { routes } from '../route.ts';
import { hostedApprovalRoutes } from './approvals.ts';
import { hostedAuditRoutes } from './audit.ts';
import { hostedKeyRoutes } from './keys.ts';

import { hostedRulesetRoutes } from './rulesets.ts';

export const hostedApi = routes({
  ...hostedKeyRoutes,
  ...hostedApprovalRoutes,
  ...hostedRulesetRoutes,
  ...hostedAuditRoutes,
});

export type HostedApi = typeof hostedApi;
