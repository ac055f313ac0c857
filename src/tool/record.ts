// Definitions of MCP tools that agents report, and the decisions about them: records as the store keeps them.

import type { ToolPin } from 'reeve-agent/rules';
import {
  maxToolName,
  type PinDecision,
  type PinMode,
  pinDecisions,
  pinModes,
  toolProblems,
} from 'reeve-agent/rules';
import { z } from 'zod';
import type { Env } from '../shared/ids.ts';
import { computed, field, instant, type RecordOf, record, type StoredOf } from '../shared/record.ts';
import { env, uuid } from '../shared/schemas.ts';

export const pinMode = z.enum(pinModes);
export const pinDecision = z.enum(pinDecisions);
/** `observed`: undecided in mode observe. `waiting`: undecided in another mode. */
export const pinStatus = z.enum(['observed', 'waiting', ...pinDecisions]);

const agentFields = {
  agentId: field(z.string()),
  firstSeenAt: field(instant),
  lastSeenAt: field(instant),
};
/** An agent that reported a definition. Times are up to an hour late. */
export type DefinitionAgent = RecordOf<typeof agentFields>;
const definitionAgentRecord = record('definition_agents', agentFields);
export const agentOfPin = definitionAgentRecord.reply('console', 'one');

/** A decision and its author. */
export interface PinRuling {
  readonly decision: PinDecision;
  /** Display name, or `first_seen` for what the hub accepted by itself. */
  readonly decidedBy: string;
  readonly decidedAt: number;
  readonly reason: string | null;
}

const entryFields = {
  /** Follows from tenant, environment, server, tool and fingerprint (`rules/identity`). */
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  env: field(env),
  /** The label that the agent's operator gives the server. */
  server: field(z.string()),
  /** A tool's name, or `(instructions)`. */
  tool: field(z.string()),
  fingerprint: field(z.string()),
  /** Follows from the ruling and the server's mode. */
  status: field(pinStatus, { stored: false }),
  /** True if the tool had another definition before. */
  isChange: field(z.boolean(), { name: 'changed' }),
  /** Bytes of the text in UTF-8; 0 until an agent sends it. */
  bytes: field(z.number().int()),
  /** The API key that reported it first; null if a person decided about it before that. */
  keyId: field(z.string().nullable(), { wire: false }),
  firstSeenAt: field(instant),
  lastSeenAt: field(instant),
  /** Null in all four: no ruling. */
  decision: field(pinDecision.nullable(), { wire: false }),
  /** `first_seen` if the hub accepted it. */
  decidedBy: field(z.string().nullable()),
  decidedAt: field(instant.nullable()),
  reason: field(z.string().nullable()),
};
export const toolEntryRecord = record('tool_definitions', entryFields);
/** An entry with its ruling in fields of its own. */
export type FlatEntry = StoredOf<typeof entryFields>;

const definitionFields = {
  ...entryFields,
  /** RFC 8785 JSON; null until an agent sends it. */
  definition: field(z.string().nullable()),
  /** Oldest first, at most `maxAgentsOfDefinition`. */
  agents: field(z.array(z.object({ agentId: z.string(), firstSeenAt: instant, lastSeenAt: instant }))),
};
export const toolDefinitionRecord = record('tool_definitions', definitionFields, {
  console: {
    agents: computed(z.array(agentOfPin), ({ agents }: RecordOf<typeof definitionFields>) =>
      agents.map((agent) => definitionAgentRecord.render('console', agent)),
    ),
  },
});

interface Ruled {
  readonly ruling: PinRuling | null;
}
/** One definition of a tool of a server in an environment, without its text. */
export type ToolEntry = Omit<FlatEntry, keyof PinRuling> & Ruled;
export type ToolDefinition = ToolEntry & Pick<StoredOf<typeof definitionFields>, 'definition' | 'agents'>;

/** An entry in a list. */
export interface ListedTool extends ToolEntry {
  /** Agents that reported the definition, at most `maxAgentsOfDefinition`. */
  readonly agentCount: number;
}

/** The fields of a ruling as flat entries have them. */
export const flatRuling = (ruling: PinRuling | null): Pick<FlatEntry, keyof PinRuling> =>
  ruling ?? { decision: null, decidedBy: null, decidedAt: null, reason: null };

/** A tool that the agent refused, or that the hub had no room for. */
export const refusedTool = z.object({
  name: z.string().max(maxToolName),
  problem: z.enum([...toolProblems, 'no_room']),
});
export type RefusedListing = Readonly<z.output<typeof refusedTool>>;

const serverFields = {
  tenantId: field(z.string(), { wire: false }),
  env: field(env, { wire: false }),
  server: field(z.string()),
  /** In force. */
  mode: field(pinMode, { stored: false }),
  /** Null: the environment's mode holds. */
  ownMode: field(pinMode.nullable()),
  /** The name and version that the server gives itself. Nothing is trusted by it. */
  info: field(z.object({ name: z.string(), version: z.string() }).nullable(), { name: 'server_info' }),
  refused: field(z.array(refusedTool)),
  agentId: field(z.string().nullable()),
  lastSeenAt: field(instant.nullable()),
};
export const toolServerRecord = record('tool_servers', serverFields);
export type StoredToolServer = StoredOf<typeof serverFields>;
/** A server of an environment, as its latest observation described it. */
export type ToolServer = Omit<StoredToolServer, 'tenantId' | 'env'>;

/** A server's tools as one agent lists them. */
export interface ToolObservation {
  readonly tenantId: string;
  readonly env: Env;
  readonly server: string;
  readonly info: ToolServer['info'];
  readonly refused: readonly RefusedListing[];
  readonly agentId: string;
  readonly keyId: string;
  readonly at: number;
  /** Each id once. */
  readonly tools: readonly {
    readonly id: string;
    readonly tool: string;
    readonly fingerprint: string;
    /** RFC 8785 JSON with this fingerprint; null if the agent did not send it. */
    readonly definition: string | null;
    /** Of the text; 0 without it. */
    readonly bytes: number;
  }[];
}

/** The state that a pin document contains. */
export interface ServerPins {
  readonly mode: PinMode;
  readonly sequence: number;
  readonly pins: readonly ToolPin[];
}

/** The actor of acceptances that no person made. */
export const firstSeenActor = 'first_seen';

/** The mode of an environment that nobody gave one. */
export const defaultPinMode: PinMode = 'observe';

/** Of one definition. */
export const maxAgentsOfDefinition = 100;
/** Of one server's latest observation. */
export const maxRefusedListings = 100;
/** Characters of a reason. */
export const maxPinReason = 500;

/** Room for definitions in an environment of a tenant. */
export interface ToolRoom {
  readonly definitions: number;
  readonly bytes: number;
}

export const environmentRoom: ToolRoom = { definitions: 10_000, bytes: 67_108_864 };
/** A tenth of the environment's. */
export const keyRoom: ToolRoom = { definitions: 1000, bytes: 6_710_886 };

/** Room of an environment, and of one API key in it. */
export interface Rooms {
  readonly environment: ToolRoom;
  readonly key: ToolRoom;
}
