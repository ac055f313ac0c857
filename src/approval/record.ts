// An approval's fields.

import { z } from 'zod';
import type { JsonObject } from '../contract/record.ts';
import { renderMicros } from '../shared/instant.ts';
import { computed, field, instant, json, type RecordOf, record } from '../shared/record.ts';
import { anyObject, env, identifier, isoInstant, line, text, uuid } from '../shared/schemas.ts';
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

/** The effect of a timeout, in the words of either API. */
export const timeoutWord = z.enum(['block', 'deny', 'allow']);

/** Bytes. Larger arguments are kept apart from their approval: lists and transitions neither read nor move them. */
export const maxInlineArgs = 4096;
/** Bytes. Larger arguments count in a quota, and are not kept for ever. */
export const largeArgs = 65_536;
/** Characters that are kept of the message of one of several asking contracts. */
const maxAskMessage = 1_000;

const name = line(255);
const orEmpty = <T extends z.ZodType>(schema: T) => z.union([z.literal(''), schema]).nullish();
/** In a request; empty is absent. */
const optionalName = { schema: orEmpty(name) };
const jsonBytes = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length;
/** Control characters other than tab and line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/;

export const approvalFields = {
  id: field(uuid, { hosted: { schema: z.string() } }),
  tenantId: field(z.string(), { wire: false }),
  status: field(approvalStatus, {
    hosted: { words: { denied: 'rejected', timeout: 'timed_out' } },
  }),
  /** The agent that asks. On the console API, the agent-id header wins; on the hosted API, the field. */
  agentId: field(z.string(), {
    input: { console: optionalName, hosted: { schema: identifier.nullish() } },
  }),
  toolName: field(z.string(), { input: { console: { schema: name }, hosted: { schema: identifier } } }),
  /** Null also if they are stored apart (`argsBytes` > 4,096), or were removed: then replies contain their size. */
  toolArgs: field(json<JsonObject, typeof anyObject>(anyObject).nullable(), {
    shorten: 'always',
    input: {
      hosted: {
        schema: anyObject
          .refine(
            (args) => jsonBytes(args) <= largeArgs,
            `must not be larger than ${largeArgs} bytes of JSON`,
          )
          .nullish(),
      },
    },
  }),
  /** Bytes of the arguments as JSON; 0 when there are none. */
  argsBytes: field(z.number(), { wire: false }),
  message: field(z.string(), {
    shorten: 'list',
    input: {
      console: { schema: text(10_000) },
      hosted: {
        schema: text(4096, 1).refine(
          (value) => !controls.test(value),
          'must not contain control characters except tab and line feed',
        ),
      },
    },
  }),
  /** In a hosted request: for a key without an environment; default production. */
  env: field(env, { hosted: { name: 'environment' }, input: { schema: env.nullish() } }),
  timeoutSeconds: field(z.int(), {
    hosted: { name: 'timeout' },
    input: { name: 'timeout', schema: z.number().int().min(1).max(86_400).default(300) },
  }),
  /** In a request, also in the other API's words; default: deny. */
  timeoutEffect: field(effect, {
    hosted: { name: 'timeout_action', words: block },
    input: {
      console: {
        schema: effect.optional(),
        alias: { name: 'timeout_action', schema: timeoutWord.optional() },
      },
      hosted: {
        schema: timeoutWord.optional(),
        alias: { name: 'timeout_effect', schema: timeoutWord.optional() },
      },
    },
  }),
  decisionSource: field(z.string().nullable(), { ...onlyConsole, input: optionalName }),
  /** In a hosted request, the default is the tool's name. */
  contractName: field(z.string().nullable(), {
    ...onlyConsole,
    input: { console: optionalName, hosted: { name: 'rule_name', schema: line(128).nullish() } },
  }),
  /** The bundle or ruleset in force: the agent's word, else the one that it follows. Null: unknown. */
  rulesetName: field(z.string().nullable(), { console: false, input: { schema: line(128).nullish() } }),
  /** Every contract that asks, in order; null if the agent did not report them. */
  contracts: field(
    json<readonly AskingContract[], z.ZodArray<typeof askingContract>>(z.array(askingContract)).nullable(),
    {
      ...onlyConsole,
      shorten: 'always',
      input: {
        schema: z
          .array(
            z.object({
              name,
              message: text(10_000).transform((message) =>
                message.slice(0, maxAskMessage).replace(/\p{Cs}$/u, ''),
              ),
            }),
          )
          .max(50)
          .nullish(),
      },
    },
  ),
  /** On whose behalf the agent calls; of one over 16 KiB only the size is kept. */
  principal: field(json<JsonObject, typeof anyObject>(anyObject).nullable(), { shorten: 'always' }),
  sessionId: field(z.string().nullable(), {
    input: { console: optionalName, hosted: { schema: orEmpty(identifier) } },
  }),
  /** The call's id in its events: two calls that differ in nothing else are two approvals. */
  callId: field(z.string().nullable(), {
    ...onlyConsole,
    input: { console: optionalName, hosted: optionalName },
  }),
  /** Display name of the decider. */
  decidedBy: field(z.string().nullable()),
  /** Distinguishes people with the same name; null: only the name is stored. */
  decidedBySubject: field(z.string().nullable(), { console: false }),
  decidedAt: field(instant.nullable()),
  decisionReason: field(z.string().nullable(), { shorten: 'list' }),
  decidedVia: field(z.string().nullable()),
  /** Stored person who has taken a pending approval: `assigneeOf` returns the person who has it now. */
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

export const ruleNameOf = ({ contractName, toolName }: Pick<Approval, 'contractName' | 'toolName'>): string =>
  contractName ?? toolName;

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
    rule_name: computed(z.string(), ruleNameOf),
    decided_at: computed(isoInstant.nullable(), ({ status, decidedAt, deadline }: Approval) => {
      const at = status === 'timeout' ? deadline : decidedAt;
      return at === null ? null : renderMicros(at);
    }),
    effective_action: computed(action.nullable(), effectiveAction),
  },
});

/** Arguments that are kept apart from their approval (over `maxInlineArgs`), whose id they have. */
const argsFields = {
  id: field(z.string()),
  tenantId: field(z.string()),
  env: field(env),
  /** The API key of the request; null: it is not stored. */
  keyId: field(z.string().nullable()),
  bytes: field(z.number()),
  createdAt: field(instant),
  json: field(z.string(), { column: 'args' }),
};
export type StoredArgs = RecordOf<typeof argsFields>;
export const argsRecord = record('approval_args', argsFields);

/** A request for an approval. */
export interface ApprovalRequest
  extends Pick<
      Approval,
      'agentId' | 'toolName' | 'toolArgs' | 'message' | 'timeoutSeconds' | 'contractName' | 'principal'
    >,
    Pick<Approval, 'sessionId' | 'callId'>,
    Partial<typeof noReport> {
  /** The agent that the request names beside it; the key must speak for both. Absent or null: no other. */
  readonly namedAgentId?: string | null;
  /** Null: the request names none, which means deny. */
  readonly timeoutEffect: TimeoutEffect | null;
}
type ApprovalIdentity = Pick<Approval, 'id' | 'tenantId' | 'env' | 'argsBytes' | 'createdAt'>;

/** The fields that requests of one API or the other lack. */
const noReport: Pick<Approval, 'decisionSource' | 'rulesetName' | 'contracts'> = {
  decisionSource: null,
  rulesetName: null,
  contracts: null,
};

/** The approval of a request, before anyone decides. Its deadline follows from its timeout. */
export function pendingApproval(
  { namedAgentId: _other, ...call }: ApprovalRequest,
  identity: ApprovalIdentity,
): Approval {
  return {
    ...noReport,
    ...call,
    ...identity,
    ...noDecision,
    status: 'pending',
    toolArgs: identity.argsBytes > maxInlineArgs ? null : call.toolArgs,
    timeoutEffect: call.timeoutEffect ?? 'deny',
    deadline: identity.createdAt + call.timeoutSeconds * 1000,
  };
}

/** The fields of a decision, as a pending approval has them. */
export const noDecision = {
  decidedBy: null,
  decidedBySubject: null,
  decidedAt: null,
  decisionReason: null,
  decidedVia: null,
  assignee: null,
} as const satisfies Partial<Approval>;

/** The fields of a request, by API and in the order of its document. */
export const consoleApprovalRequest = approvalRecord.input('console', [
  'agentId',
  'toolName',
  'toolArgs',
  'message',
  'timeoutSeconds',
  'timeoutEffect',
  'decisionSource',
  'contractName',
  'contracts',
  'principal',
  'sessionId',
  'callId',
]);
export const hostedApprovalRequest = approvalRecord.input('hosted', [
  'agentId',
  'sessionId',
  'callId',
  'toolName',
  'toolArgs',
  'message',
  'contractName',
  'rulesetName',
  'timeoutSeconds',
  'timeoutEffect',
  'env',
  'principal',
]);

export interface Decision {
  /** Unique. A decision that comes a second time, after its answer was lost, is recognized by it. */
  readonly id: string;
  readonly approved: boolean;
  readonly decidedBy: string;
  /** Distinguishes people with the same name. Absent: the id of the actor who decides. */
  readonly decidedBySubject?: string | null;
  readonly reason: string | null;
  readonly decidedVia: string;
}

/** The fields that a decision writes. @param at epoch milliseconds */
export const decidedFields = (decision: Decision, at: number) => ({
  status: decision.approved ? ('approved' as const) : ('denied' as const),
  decidedBy: decision.decidedBy,
  decidedBySubject: decision.decidedBySubject ?? null,
  decidedAt: at,
  decisionReason: decision.reason,
  decidedVia: decision.decidedVia,
});

/** `decidedVia` of a denial by the agent that asked. */
export const withdrawnVia = 'withdrawn';

/** Label of the place where a person decided. @param reserved labels of decisions that no person made */
export const decidedViaLabel = (...reserved: readonly string[]) =>
  line(64).refine((label) => !reserved.includes(label), `must not be ${reserved.join(' or ')}`);
