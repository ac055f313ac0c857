// The schemas of the hosted API that have a name of their own (src/hub/api/components.ts).
import type { z } from 'zod';
import { healthStatus, hostedAgent } from '../../agent/hosted/routes.ts';
import { hostedApproval } from '../../approval/hosted/routes.ts';
import { auditActorType, auditEntry, auditSubjectType } from '../../audit/hosted/routes.ts';
import { rulesetDetail, rulesetVersion } from '../../bundle/hosted/routes.ts';
import { hostedReplay, hostedReplayChange, hostedReplayJudgement } from '../../evaluation/hosted/routes.ts';
import { decisionEvent } from '../../event/hosted/event.ts';
import { decisionClass } from '../../event/record/decision-class.ts';
import { hostedChannel, hostedChannelBody, savedHostedChannel } from '../../notification/hosted/routes.ts';
import {
  attemptFailure,
  hostedChannelType,
  hostedFilters,
  hostedLastDelivery,
} from '../../notification/record.ts';
import { runRow } from '../../run/hosted/run.ts';
import { runStatus } from '../../run/record.ts';

export const hostedComponents: { readonly [name: string]: z.ZodType } = {
  RulesetVersion: rulesetVersion,
  RulesetDetail: rulesetDetail,
  RulesetReplay: hostedReplay,
  ReplayChange: hostedReplayChange,
  ReplayJudgement: hostedReplayJudgement,
  DecisionClass: decisionClass,
  DecisionEvent: decisionEvent,
  HealthStatus: healthStatus,
  HostedAgent: hostedAgent,
  Run: runRow,
  RunStatus: runStatus,
  HostedApproval: hostedApproval,
  AttemptFailure: attemptFailure,
  HostedChannel: hostedChannel,
  LastDelivery: hostedLastDelivery,
  SavedHostedChannel: savedHostedChannel,
  HostedChannelFilters: hostedFilters,
  HostedChannelType: hostedChannelType,
  HostedChannelRequest: hostedChannelBody,
  AuditEntry: auditEntry,
  AuditActorType: auditActorType,
  AuditSubjectType: auditSubjectType,
};
