// The events of the live streams as data: one schema per event type, one table per stream. From the tables come what
// the hub may send, the OpenAPI components, the clients' types and the table in docs/protocol.md. Browser-safe.
import { z } from 'zod';
import { approvalStatus, assignmentSource, bundleName, env, instant, isolationMode, uuid } from './fields.ts';
import { provenanceFields } from './signature.ts';

export interface FrameDeclaration {
  /** When it is sent, and to whom where that is not everybody on the stream. */
  readonly summary: string;
  /** The event's data, as clients receive it. */
  readonly data: z.ZodType;
}

/** The events of a stream, by the name that stands in the `event:` line. */
export type FrameTable = { readonly [type: string]: FrameDeclaration };

/** The data of any event of a table: a union, discriminated by `type`. */
export type EventOf<T extends FrameTable> = { [K in keyof T & string]: z.output<T[K]['data']> }[keyof T &
  string];

type Fields<D> = D extends { readonly type: string } ? Omit<D, 'type'> : never;

/** Makes the data of an event, held to its declaration by the compiler. */
export const eventMaker =
  <T extends FrameTable>(_table: T) =>
  <K extends keyof T & string>(type: K, fields: Fields<z.input<T[K]['data']>>): { readonly type: K } => ({
    type,
    ...fields,
  });

const event = <const K extends string, S extends z.ZodRawShape>(type: K, summary: string, fields: S) => ({
  summary,
  data: z.object({ type: z.literal(type), ...fields }),
});

const hex = (characters: number) => z.string().regex(new RegExp(`^[0-9a-f]{${characters}}$`));
const version = z.number().int().min(1);
const agents = z.number().int().min(0);
const decided = approvalStatus.extract(['approved', 'denied']);

/** W3C Trace Context of the frame's subject: only with `trace=1`, and only where the hub traces. */
const traceparent = z.string().optional();

const contractUpdate = event(
  'contract_update',
  'A bundle is deployed to an environment, or its deployment is signed with a new key. An agent receives those in ' +
    'its environment, or for the bundle that it follows; also at connect, if it does not run the deployed document.',
  {
    bundle_name: z.string(),
    version,
    /** SHA-256 of the YAML. */
    revision_hash: hex(64),
    /** Ed25519 over the YAML's bytes, as 128 hex characters, or as base64 where the hub is set so. */
    signature: z.string(),
    public_key: hex(64),
    /** Base64. */
    yaml_bytes: z.base64(),
    env,
    tenant_id: uuid,
    ...provenanceFields,
    traceparent,
  },
);

const approvalDecided = event(
  'approval_decided',
  'A person approves or denies a call. Only the agent that requested the approval receives it.',
  { approval_id: uuid, status: decided, decided_by: z.string().nullable(), traceparent },
);

const resyncReason = z.enum(['position_unknown', 'position_gone', 'too_far_behind']);
export type ResyncReason = z.output<typeof resyncReason>;

const resync = event('resync', 'Frames were missed and cannot be resent: read the current state again.', {
  /** Absent where the hub itself lost frames. */
  reason: resyncReason.optional(),
});

/** Null: every server of the environment. */
const pinFields = { server: z.string().nullable(), sequence: z.number().int() };

/** The agent stream of the console API. */
export const consoleAgentFrames = {
  contract_update: contractUpdate,
  approval_decided: approvalDecided,
  assignment_changed: event(
    'assignment_changed',
    'An assignment or a rule changes the bundle of the agent. Only this agent receives it.',
    {
      agent_id: z.string(),
      /** Null when it is assigned nothing. */
      bundle_name: z.string().nullable(),
      source: assignmentSource,
    },
  ),
  tool_pins_changed: event(
    'tool_pins_changed',
    'Only with `pins=1`: the pin document of a server (null: of all servers) has changed up to this sequence.',
    pinFields,
  ),
  isolation_changed: event(
    'isolation_changed',
    "Only with `isolation=1`: the tenant's least isolation of programs, at connect and on each change. Treat an unknown " +
      'mode as `required`.',
    { isolation: isolationMode },
  ),
  resync,
} satisfies FrameTable;

/** A person who has taken an approval. */
export const assignee = z.object({ id: z.string(), name: z.string(), since: instant });

const approvalFields = { approval_id: uuid, agent_id: z.string(), tool_name: z.string() };
/** `version` is absent where many were imported at once. */
const contractFields = { contract_id: z.string(), version: version.optional() };

/** The dashboard stream of the console API: of all environments of a tenant. */
export const consoleDashboardFrames = {
  approval_created: event('approval_created', 'An agent requests an approval.', {
    ...approvalFields,
    message: z.string(),
  }),
  approval_decided: approvalDecided,
  approval_timeout: event('approval_timeout', 'A pending approval reaches its deadline.', approvalFields),
  approval_assigned: event(
    'approval_assigned',
    'Only with `include=assignments`: a person takes a pending approval, or (null) nobody has it any more.',
    {
      approval_id: uuid,
      assignee: assignee.nullable(),
    },
  ),
  assignment_changed: {
    summary:
      'A person assigns a bundle to an agent (to many at once: `agent_id` is `__bulk__`), or changes an assignment rule.',
    data: z.union([
      z.object({
        type: z.literal('assignment_changed'),
        agent_id: z.string(),
        bundle_name: bundleName.nullable(),
        source: z.literal('explicit'),
      }),
      z.object({
        type: z.literal('assignment_changed'),
        rule_id: uuid,
        action: z.enum(['created', 'updated', 'deleted']),
      }),
    ]),
  },
  bundle_uploaded: event('bundle_uploaded', 'A bundle version is uploaded.', {
    bundle_name: z.string(),
    version,
    revision_hash: hex(64),
    uploaded_by: z.string(),
  }),
  composition_changed: event(
    'composition_changed',
    'A composition is created, changed, deleted or deployed; `bundle_version` is present if it is deployed.',
    { composition_name: z.string(), bundle_version: version.optional() },
  ),
  contract_created: event('contract_created', 'A contract is created in the library.', contractFields),
  contract_update: contractUpdate,
  contract_updated: event('contract_updated', 'A contract gets a new version.', contractFields),
  event_created: event(
    'event_created',
    'A batch of audit events is stored; `accepted` counts the new ones.',
    {
      accepted: z.number().int().min(1),
    },
  ),
  api_key_created: event('api_key_created', 'An API key is created.', {
    key_id: uuid,
    env: env.nullable(),
    label: z.string().nullable(),
  }),
  api_key_revoked: event('api_key_revoked', 'An API key is revoked.', { key_id: uuid }),
  bundle_deployed: event(
    'bundle_deployed',
    'A bundle version is deployed, after its `contract_update`; or a bundle is undeployed.',
    {
      bundle_name: z.string(),
      /** Null when the bundle is taken away. */
      version: version.nullable(),
      env,
      deployed_by: z.string(),
      /** Present when an admin deployed it although the document has errors. */
      forced: z.literal(true).optional(),
      /** Present if the deployer gave a reason. */
      reason: z.string().optional(),
      /** Present when the bundle is taken away: agents keep what they have. */
      undeployed: z.literal(true).optional(),
    },
  ),
  fleet_changed: event(
    'fleet_changed',
    'Only with `include=fleet`: counts of the connected agents in an environment, by whether they run the deployed ' +
      'document, another one, or have not reported one. Sent at connect for each environment, then on each change, at most ' +
      'once a second each.',
    { env, connected: agents, current: agents, drift: agents, unknown: agents },
  ),
  tool_pins_changed: event(
    'tool_pins_changed',
    'Only with `include=tools`: tool definitions, decisions or modes of an environment have changed.',
    { ...pinFields, env },
  ),
  stats_changed: event(
    'stats_changed',
    'Only with `include=stats`, in place of `event_created`: how many events of a minute (by their receipt) were stored ' +
      'since the frame before, by their first verdict. Add them up. At most one a second for each environment and node.',
    { env, minute: instant, allowed: agents, denied: agents, would_deny: agents, asked: agents },
  ),
  signing_key_rotated: event('signing_key_rotated', 'The signing key is replaced.', { public_key: hex(64) }),
  resync,
} satisfies FrameTable;

export type ConsoleAgentEvent = EventOf<typeof consoleAgentFrames>;
export type ConsoleDashboardEvent = EventOf<typeof consoleDashboardFrames>;
