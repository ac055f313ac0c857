// Lines of an export as events of the Open Cybersecurity Schema Framework 1.8.0, with the profiles ai_operation and
// security_control. A call of a shell is a Process Activity (1007), everything else an API Activity (6003).
import type { Approval } from '../../approval/record.ts';
import type { DecisionClass } from '../../event/record/words.ts';
import type { EventOutcome, StoredEvent } from '../../event/record.ts';
import { callIdOf, classOf, sessionOf } from '../../event/rules/decision.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { ExportRecord } from '../record.ts';
import { dataOf, idOf, timeOf } from './native.ts';

const schemaVersion = '1.8.0';
const profiles = ['ai_operation', 'security_control'];
/** Activity 99: something that the class has no word for. */
const otherActivity = 99;
const launch = 1;

/** Names of tools that run a command line, and of the argument that contains it. */
const shellTools = new Set(
  ['bash', 'sh', 'shell', 'zsh', 'powershell', 'cmd', 'exec', 'execute_command', 'run_command'].concat([
    'run_shell_command',
    'run_terminal_cmd',
    'terminal',
    'local_shell',
    'execute_bash',
    'bash_command',
  ]),
);
const commandArguments = ['command', 'cmd', 'command_line', 'script'];

interface Judgement {
  readonly action_id: number;
  readonly action?: string;
  readonly disposition_id?: number;
  readonly disposition?: string;
  readonly severity_id: number;
  readonly status_id: number;
}

const allowed = {
  action_id: 1,
  action: 'Allowed',
  disposition_id: 1,
  disposition: 'Allowed',
  severity_id: 1,
};
const denied = { action_id: 2, action: 'Denied', disposition_id: 2, disposition: 'Blocked', severity_id: 3 };
const observed = {
  action_id: 3,
  action: 'Observed',
  disposition_id: 17,
  disposition: 'Logged',
  severity_id: 2,
};
const undecided = { action_id: 0, action: 'Unknown', severity_id: 1 };

const success = 1;
const failure = 2;

const judgements: { readonly [C in DecisionClass]: Judgement } = {
  allow: { ...allowed, status_id: success },
  block: { ...denied, status_id: failure },
  ask: { ...undecided, status_id: 0 },
  would_block: { ...observed, status_id: success },
  timeout: { ...denied, status_id: failure },
  fail: { ...allowed, status_id: failure },
  warn: { ...observed, status_id: success },
  workflow: { ...allowed, status_id: success },
  other: { ...undecided, status_id: 0 },
};

/** A denial that was only observed denied nothing. */
function judgementOf(verdict: string, mode: string): Judgement {
  const kind = classOf(verdict);
  return mode === 'observe' && judgements[kind].action_id === 2 ? judgements.would_block : judgements[kind];
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** The command line of a call of a shell; null: it is none. */
function commandOf({ toolName: tool, payload }: Pick<StoredEvent, 'toolName' | 'payload'>): string | null {
  if (!shellTools.has(tool.toLowerCase())) return null;
  const args = payload?.tool_args as { readonly [name: string]: unknown } | null | undefined;
  const texts = commandArguments.flatMap((name) => textOf(args?.[name]) ?? []);
  return texts[0] ?? tool;
}

interface Context {
  readonly cursor: string;
  readonly tenantId: string;
  /** Of the hub. */
  readonly version: string;
}

const headOf = (
  record: ExportRecord,
  { tenantId, version }: Context,
  loggedAt: number,
  correlation?: string,
) => ({
  category_uid: 6,
  time: Math.floor(timeOf(record)),
  metadata: {
    version: schemaVersion,
    product: { name: 'Reeve', vendor_name: 'Reeve', version },
    profiles,
    uid: idOf(record),
    tenant_uid: tenantId,
    log_name: record.type,
    logged_time: loggedAt,
    ...omitUndefined({ correlation_uid: correlation }),
  },
});

const unmapped = (record: ExportRecord, { cursor }: Context) => ({
  cursor,
  type: record.type,
  record: dataOf(record),
});

/** Fields that every call has, for every reporter. */
const callerOf = (agentId: string, sessionId: string | null) => ({
  actor: {
    app_name: agentId || 'unnamed',
    ...(sessionId === null ? {} : { session: { uid: sessionId } }),
  },
  message_context: {
    service: { name: agentId || 'unnamed' },
    ...(sessionId === null ? {} : { uid: sessionId }),
  },
});

function callEvent(event: StoredEvent, outcome: EventOutcome | null, record: ExportRecord, context: Context) {
  const { agentId, toolName: tool, mode, payload } = event;
  const callId = callIdOf(event) ?? event.id;
  const rule = textOf(outcome ? outcome.decisionName : payload?.decision_name);
  const reason = textOf(outcome ? outcome.reason : payload?.reason);
  const version = outcome ? undefined : textOf(payload?.policy_version);
  const judgement = judgementOf(outcome?.verdict ?? event.verdict, mode);
  const shared = {
    ...headOf(record, context, event.createdAt, callId),
    ...judgement,
    status_detail: outcome?.verdict ?? event.verdict,
    ...omitUndefined({ message: reason }),
    ...(rule === undefined ? {} : { policy: { name: rule, ...omitUndefined({ version }) } }),
    ...callerOf(agentId, sessionOf(event)),
    unmapped: unmapped(record, context),
  };
  const command = commandOf(event);
  if (command !== null)
    return {
      ...shared,
      category_uid: 1,
      class_uid: 1007,
      activity_id: launch,
      type_uid: 1007 * 100 + launch,
      process: { uid: callId, name: tool || 'unnamed', cmd_line: command },
      device: { type_id: 0, name: agentId || 'unnamed' },
    };
  return { ...shared, ...apiActivity(tool, callId, agentId) };
}

const apiActivity = (operation: string, requestId: string, endpoint: string) => ({
  class_uid: 6003,
  activity_id: otherActivity,
  activity_name: 'Call',
  type_uid: 6003 * 100 + otherActivity,
  api: { operation: operation || 'unnamed', request: { uid: requestId } },
  src_endpoint: { name: endpoint || 'unnamed' },
});

const ofApproval = (record: ExportRecord, { status, timeoutEffect }: Approval): Judgement => {
  if (record.type === 'approval_requested') return { ...undecided, status_id: 0 };
  if (status === 'approved') return { ...allowed, status_id: success };
  if (status === 'timeout' && timeoutEffect === 'allow') return { ...allowed, status_id: success };
  return { ...denied, status_id: failure };
};

function approvalEvent(approval: Approval, record: ExportRecord, context: Context) {
  const { agentId, contractName } = approval;
  const loggedAt =
    record.type === 'approval_requested' ? approval.createdAt : (approval.decidedAt ?? timeOf(record));
  const callId = approval.callId ?? approval.id;
  return {
    ...headOf(record, context, loggedAt, callId),
    ...ofApproval(record, approval),
    status_detail: record.type,
    message: approval.message,
    ...(contractName ? { policy: { name: contractName } } : {}),
    ...callerOf(agentId, approval.sessionId),
    ...apiActivity(approval.toolName, callId, agentId),
    unmapped: unmapped(record, context),
  };
}

function auditEvent(record: Extract<ExportRecord, { type: 'audit_entry' }>, context: Context) {
  const {
    actor,
    action_type: action,
    summary,
    id,
  } = record.entry as {
    readonly actor: { readonly id: string; readonly display: string };
    readonly action_type: string;
    readonly summary: string;
    readonly id: string;
  };
  return {
    ...headOf(record, context, Math.floor(timeOf(record))),
    ...allowed,
    status_id: success,
    message: summary,
    actor: { user: { uid: actor.id || 'unnamed', name: actor.display || 'unnamed' } },
    ...apiActivity(action, id, 'reeve'),
    unmapped: unmapped(record, context),
  };
}

export function ocsfEvent(record: ExportRecord, context: Context): { readonly [name: string]: unknown } {
  if (record.type === 'audit_entry') return auditEvent(record, context);
  if (record.type === 'event') return callEvent(record.event, null, record, context);
  if (record.type === 'outcome') return callEvent(record.event, record.outcome, record, context);
  return approvalEvent(record.approval, record, context);
}
