// An approval's fields.

import { z } from 'zod';
import type { JsonObject } from '../contract/record.ts';
import { renderMicros } from '../shared/instant.ts';
import { computed, field, instant, json, type RecordOf, record } from '../shared/record.ts';
import { anyObject, env, isoInstant, uuid } from '../shared/schemas.ts';
import { listed, truncated } from '../shared/truncated.ts';

export const approvalStatuses = ['pending', 'approved', 'denied', 'timeout'] as const;
export const approvalStatus = z.enum(approvalStatuses);
export type ApprovalStatus = z.output<typeof approvalStatus>;
export type TimeoutEffect = 'deny' | 'allow';

/** A contract that asks a person. */
export const askingContract = z.object({ name: z.string(), message: z.string() });
export type AskingContract = Readonly<z.output<typeof askingContract>>;

/** A person who looks after an approval, since an instant. Advice: others may decide all the same. */
const assignee = z.object({ id: z.string(), name: z.string(), since: instant });
export type ApprovalAssignee = Readonly<z.output<typeof assignee>>;

const effect = z.enum(['deny', 'allow']);
const onlyConsole = { hosted: false } as const;
const block = { deny: 'block' } as const;

export const approvalFields = {
  id: field(uuid, { hosted: { schema: z.string() } }),
  tenantId: field(z.string(), { wire: false }),
  status: field(approvalStatus, {
    hosted: { words: { denied: 'rejected', timeout: 'timed_out' } },
  }),
  agentId: field(z.string()),
  toolName: field(z.string()),
  /** Null also if they are stored apart (`argsBytes` > 4,096), or were removed: then replies contain their size. */
  toolArgs: field(json<JsonObject, typeof anyObject>(anyObject).nullable(), { shorten: 'always' }),
  /** Bytes of the arguments as JSON; 0 when there are none. */
  argsBytes: field(z.number(), { wire: false }),
  message: field(z.string(), { shorten: 'list' }),
  env: field(env, { hosted: { name: 'environment' } }),
  timeoutSeconds: field(z.int(), { hosted: { name: 'timeout' } }),
  timeoutEffect: field(effect, { hosted: { name: 'timeout_action', words: block } }),
  decisionSource: field(z.string().nullable(), onlyConsole),
  contractName: field(z.string().nullable(), onlyConsole),
  /** The bundle or ruleset in force: the agent's word, else the one that it follows. Null: unknown. */
  rulesetName: field(z.string().nullable(), { console: false }),
  /** Every contract that asks, in order; null if the agent did not report them. */
  contracts: field(
    json<readonly AskingContract[], z.ZodArray<typeof askingContract>>(z.array(askingContract)).nullable(),
    {
      ...onlyConsole,
      shorten: 'always',
    },
  ),
  /** On whose behalf the agent calls; of one over 16 KiB only the size is kept. */
  principal: field(json<JsonObject, typeof anyObject>(anyObject).nullable(), { shorten: 'always' }),
  sessionId: field(z.string().nullable()),
  /** The call's id in its events. */
  callId: field(z.string().nullable(), onlyConsole),
  /** Display name of the decider. */
  decidedBy: field(z.string().nullable()),
  /** Distinguishes people with the same name; null for decisions from before the hub stored it. */
  decidedBySubject: field(z.string().nullable(), { console: false }),
  decidedAt: field(instant.nullable()),
  decisionReason: field(z.string().nullable(), { shorten: 'list' }),
  decidedVia: field(z.string().nullable()),
  /** Who has taken a pending approval, as stored: `assigneeOf` returns the person who has it now. */
  assignee: field(assignee.nullable(), { wire: false }),
  createdAt: field(instant),
  /** createdAt + timeout. */
  deadline: field(instant, { name: 'expires_at' }),
};

export type Approval = RecordOf<typeof approvalFields>;

const argsOf = ({ toolArgs, argsBytes }: Approval) =>
  toolArgs ?? (argsBytes > 0 ? truncated(argsBytes) : null);
const args = computed(listed(anyObject).nullable(), argsOf);
const action = z.enum(['block', 'allow']);

/** The agent's next act; null while the approval is pending. */
function effectiveAction({ status, timeoutEffect }: Approval): z.output<typeof action> | null {
  if (status === 'pending') return null;
  const isAllowed = status === 'timeout' ? timeoutEffect === 'allow' : status === 'approved';
  return isAllowed ? 'allow' : 'block';
}

export const approvalRecord = record('approvals', approvalFields, {
  console: { tool_args: args },
  hosted: {
    tool_args: args,
    rule_name: computed(z.string(), ({ contractName, toolName }: Approval) => contractName ?? toolName),
    decided_at: computed(isoInstant.nullable(), ({ status, decidedAt, deadline }: Approval) => {
      const at = status === 'timeout' ? deadline : decidedAt;
      return at === null ? null : renderMicros(at);
    }),
    effective_action: computed(action.nullable(), effectiveAction),
  },
});

/** What a pending approval has of a decision. */
export const noDecision = {
  decidedBy: null,
  decidedBySubject: null,
  decidedAt: null,
  decisionReason: null,
  decidedVia: null,
  assignee: null,
} as const satisfies Partial<Approval>;

/** Bytes. Larger arguments are kept apart from their approval: lists and transitions neither read nor move them. */
export const maxInlineArgs = 4096;
/** Bytes. Larger arguments count in a quota, and are not kept for ever. */
export const largeArgs = 65_536;

export interface Decision {
  /** Unique. A decision that comes a second time, after its answer was lost, is told by it. */
  readonly id: string;
  readonly approved: boolean;
  readonly decidedBy: string;
  /** Absent from a node of an earlier version. */
  readonly decidedBySubject?: string | null;
  readonly reason: string | null;
  readonly decidedVia: string;
}

/** `decidedVia` of a denial by the agent that asked. */
export const withdrawnVia = 'withdrawn';
