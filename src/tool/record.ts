// Definitions of MCP tools that agents report, and the decisions about them: records as the store keeps them.
import type { PinDecision, PinMode, RefusedTool, ToolPin } from 'reeve-agent/rules';
import type { Env } from '../shared/ids.ts';

/** An agent that reported a definition. Times are up to an hour late. */
export interface DefinitionAgent {
  readonly agentId: string;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
}

/** A decision and its author. */
export interface PinRuling {
  readonly decision: PinDecision;
  /** Display name, or `first_seen` for what the hub accepted by itself. */
  readonly decidedBy: string;
  readonly decidedAt: number;
  readonly reason: string | null;
}

/** One definition of a tool of a server in an environment, without its text. */
export interface ToolEntry {
  /** Follows from tenant, environment, server, tool and fingerprint (`rules/identity`). */
  readonly id: string;
  readonly tenantId: string;
  readonly env: Env;
  /** The label that the agent's operator gives the server. */
  readonly server: string;
  /** A tool's name, or `(instructions)`. */
  readonly tool: string;
  readonly fingerprint: string;
  /** Bytes of the text in UTF-8; 0 until an agent sends it. */
  readonly bytes: number;
  /** The API key that reported it first; null if a person decided about it before that. */
  readonly keyId: string | null;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** True if the tool had another definition before. */
  readonly isChange: boolean;
  readonly ruling: PinRuling | null;
}

/** An entry in a list. */
export interface ListedTool extends ToolEntry {
  /** Agents that reported the definition, at most `maxAgentsOfDefinition`. */
  readonly agentCount: number;
}

export interface ToolDefinition extends ToolEntry {
  /** RFC 8785 JSON; null until an agent sends it. */
  readonly definition: string | null;
  /** Oldest first, at most `maxAgentsOfDefinition`. */
  readonly agents: readonly DefinitionAgent[];
}

/** A server of an environment, as its latest observation described it. */
export interface ToolServer {
  readonly server: string;
  /** Null: the environment's mode holds. */
  readonly ownMode: PinMode | null;
  /** The name and version that the server gives itself. Nothing is trusted by it. */
  readonly info: { readonly name: string; readonly version: string } | null;
  /** Tools that the agent refused, and those that the hub had no room for. */
  readonly refused: readonly RefusedListing[];
  readonly agentId: string | null;
  readonly lastSeenAt: number | null;
}

export interface RefusedListing {
  readonly name: string;
  readonly problem: RefusedTool['problem'] | 'no_room';
}

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
