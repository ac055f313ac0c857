// The schemas of the hosted API that have a name of their own (src/api/components.ts).
import type { z } from 'zod';
import { hostedApproval } from './approvals.ts';
import { auditEntry, auditSubjectType } from './audit.ts';
import { rulesetDetail, rulesetVersion } from './rulesets.ts';

export const hostedComponents: { readonly [name: string]: z.ZodType } = {
  RulesetVersion: rulesetVersion,
  RulesetDetail: rulesetDetail,
  HostedApproval: hostedApproval,
  AuditEntry: auditEntry,
  AuditSubjectType: auditSubjectType,
};
