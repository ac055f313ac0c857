// The schemas that have a name of their own: the OpenAPI document describes each once and refers to it wherever it
// occurs. A schema that one route alone uses needs no name here.
import type { z } from 'zod';
import { fleetAgent, registration } from '../../agent/console/routes.ts';
import { rule, savedRule } from '../../agent/console/rule-routes.ts';
import { driftStatus } from '../../agent/record.ts';
import { assignee } from '../../approval/console/render.ts';
import { approval } from '../../approval/console/routes.ts';
import { askingContract, timeoutWord } from '../../approval/record.ts';
import { aiMessage, aiProvider, aiSettings, conversation } from '../../assistant/console/routes.ts';
import { version as bundleVersion } from '../../bundle/console/routes.ts';
import { lintFinding } from '../../bundle/record/finding.ts';
import { detail as composition, item } from '../../composition/console/routes.ts';
import { updateStrategy } from '../../composition/record.ts';
import { detail as contract } from '../../contract/console/routes.ts';
import { contractChange, oneSided } from '../../deployment/console/impact-routes.ts';
import { deployment, runningVersion } from '../../deployment/console/schemas.ts';
import { consoleReplay, replayJudgement } from '../../evaluation/console/replay-routes.ts';
import {
  replayDoubt,
  replayedSession,
  replaySide,
  replayWindow,
  skippedRules,
} from '../../evaluation/console/replay-schemas.ts';
import { toolArguments, toolSettingsReply } from '../../evaluation/console/tool-routes.ts';
import { eventBatch, eventInput, facet, manifest, stored } from '../../event/console/routes.ts';
import { callVerdict, outcome, rejected } from '../../event/console/schemas.ts';
import { condition } from '../../event/record/fields.ts';
import {
  anyObject,
  approvalStatus,
  assignmentSource,
  bundleName,
  contractId,
  contractType,
  env,
  instant,
  isolationMode,
  mode,
  tagMap,
  tags,
  uuid,
  yamlDocument,
} from '../../http/contract/fields.ts';
import type { FrameTable } from '../../http/contract/frame-table.ts';
import { consoleAgentFrames, consoleDashboardFrames } from '../../http/contract/frames.ts';
import { keySuccession } from '../../http/contract/signature.ts';
import { jobQueue } from '../../notification/console/job-routes.ts';
import { channel, delivery } from '../../notification/console/routes.ts';
import { channelConfig } from '../../notification/console/schemas.ts';
import { channelFilters, channelType, deliveryStatus } from '../../notification/record.ts';
import { sampleRunRemoved, sampleRunReply } from '../../run/console/sample-schemas.ts';
import * as sessions from '../../session/console/parts.ts';
import { truncatedField } from '../../shared/truncated.ts';
import { logLevel, tenant } from '../../tenant/console/operator-routes.ts';
import { retentionSettings } from '../../tenant/console/retention-routes.ts';
import { signedPins, toolPin, toolPinDetail } from '../../tool/console/routes.ts';
import { agentOfPin, pinMode, pinStatus, refusedTool } from '../../tool/record.ts';
import { coverageCounts } from '../../usage/console/coverage-counts.ts';
import { timeWindow } from '../../usage/console/coverage-routes.ts';
import { callCounts } from '../../usage/console/routes.ts';
import { message } from '../../user/console/login-routes.ts';
import { user } from '../../user/console/routes.ts';
import { serviceAccount } from '../../user/console/service-routes.ts';
import { sessionList } from '../../user/console/session-routes.ts';
import { givenToken } from '../../user/console/token-routes.ts';
import { envRole, operatorRole, roleEnvironment } from '../../user/record/credentials.ts';
import { savedView } from '../../view/console/routes.ts';
import { link, minimalHealth, storageState } from './health-routes.ts';
import { hostedComponents } from './hosted-components.ts';

const pascal = (name: string): string =>
  name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** `ContractUpdateEvent` for `contract_update`. */
const eventNames = (table: FrameTable) =>
  Object.fromEntries(Object.entries(table).map(([type, { data }]) => [`${pascal(type)}Event`, data]));

const {
  assignment_changed: agentAssignment,
  tool_pins_changed: agentPins,
  ...agentFrames
} = consoleAgentFrames;
const {
  assignment_changed: dashboardAssignment,
  tool_pins_changed: dashboardPins,
  ...dashboardFrames
} = consoleDashboardFrames;

export const components: {
  readonly [name: string]: z.ZodType;
} = {
  Environment: env,
  Uuid: uuid,
  IsolationMode: isolationMode,
  BundleReplay: consoleReplay,
  BundleReplayJudgement: replayJudgement,
  ReplayDoubt: replayDoubt,
  ReplayedSession: replayedSession,
  ReplaySide: replaySide,
  ReplayWindow: replayWindow,
  SkippedRules: skippedRules,
  Instant: instant,
  JsonObject: anyObject,
  Health: minimalHealth,
  SessionBatch: sessions.sessionBatch,
  SessionBatchValues: sessions.sessionBatchReply,
  SessionValue: sessions.sessionReply,
  SessionWrite: sessions.sessionWrite,
  SessionWritten: sessions.sessionWritten,
  SessionIncrement: sessions.sessionIncrement,
  SessionCount: sessions.sessionCount,
  SessionRemoved: sessions.sessionRemoved,
  Mode: mode,
  Truncated: truncatedField,
  Message: message,
  User: user,
  Sessions: sessionList,
  ServiceAccount: serviceAccount,
  BundleName: bundleName,
  BundleVersion: bundleVersion,
  Deployment: deployment,
  Finding: lintFinding,
  KeySuccession: keySuccession,
  ContractId: contractId,
  ContractType: contractType,
  Contract: contract,
  ContractTags: tags,
  CompositionItem: item,
  Composition: composition,
  UpdateStrategy: updateStrategy,
  YamlDocument: yamlDocument,
  Approval: approval,
  ApprovalAssignee: assignee,
  CallCounts: callCounts,
  CallVerdict: callVerdict,
  SavedView: savedView,
  AskingContract: askingContract,
  ApprovalStatus: approvalStatus,
  TimeoutWord: timeoutWord,
  AuditEventInput: eventInput,
  AuditEventBatch: eventBatch,
  AuditEvent: stored,
  AuditEventOutcome: outcome,
  EventCondition: condition,
  EventFacet: facet,
  TimeWindow: timeWindow,
  RejectedEvent: rejected,
  AgentManifest: manifest,
  AgentRegistration: registration,
  CoverageCounts: coverageCounts,
  FleetAgent: fleetAgent,
  DriftStatus: driftStatus,
  AgentTags: tagMap,
  AssignmentRule: rule,
  SavedAssignmentRule: savedRule,
  AssignmentSource: assignmentSource,
  SampleRun: sampleRunReply,
  SampleRunRemoved: sampleRunRemoved,
  OperatorTokenGiven: givenToken,
  ToolArguments: toolArguments,
  ToolSettings: toolSettingsReply,
  RetentionSettings: retentionSettings,
  PinMode: pinMode,
  PinStatus: pinStatus,
  AgentOfToolPin: agentOfPin,
  RefusedTool: refusedTool,
  SignedToolPins: signedPins,
  ToolPin: toolPin,
  ToolPinDetail: toolPinDetail,
  ContractOfOneSide: oneSided,
  ContractChange: contractChange,
  RunningVersion: runningVersion,
  AiSettings: aiSettings,
  AiProvider: aiProvider,
  AiMessage: aiMessage,
  AiConversation: conversation,
  NotificationChannel: channel,
  ChannelType: channelType,
  ChannelConfig: channelConfig,
  ChannelFilters: channelFilters,
  Delivery: delivery,
  DeliveryStatus: deliveryStatus,
  StorageState: storageState,
  JobQueue: jobQueue,
  LogLevel: logLevel,
  Tenant: tenant,
  OperatorTokenRole: operatorRole,
  EnvironmentRole: envRole,
  RoleEnvironment: roleEnvironment,
  StoreConnection: link,
  ...hostedComponents,
  ...eventNames(agentFrames),
  ...eventNames(dashboardFrames),
  AgentAssignmentChangedEvent: agentAssignment.data,
  DashboardAssignmentChangedEvent: dashboardAssignment.data,
  AgentToolPinsChangedEvent: agentPins.data,
  DashboardToolPinsChangedEvent: dashboardPins.data,
};
