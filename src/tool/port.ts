// Store port of tool definitions and the decisions about them. Every write is durable when its promise resolves.
import type { PinDecision, PinMode } from 'reeve-agent/rules';
import type { Env } from '../shared/ids.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import type {
  ListedTool,
  PinRuling,
  Rooms,
  ServerPins,
  ToolDefinition,
  ToolEntry,
  ToolObservation,
  ToolServer,
} from './record.ts';

export interface ObservationOutcome extends ServerPins {
  /** Ids of the observation's definitions whose text is not stored, and that have room. */
  readonly lacking: readonly string[];
  /** Ids of the observation's definitions that were not stored, because there is no room. */
  readonly withoutRoom: readonly string[];
  /** Entries of the server that are noteworthy (`rules/pinning`) and that nobody marked as announced; by tool. */
  readonly unannounced: readonly ToolEntry[];
}

/** A definition and the environments of one decision. */
export interface PinChange {
  readonly tenantId: string;
  readonly env: Env;
  /** The entry to copy where the environment does not have the definition. */
  readonly from: ToolDefinition;
  /** Of the definition in `env`. */
  readonly id: string;
  readonly ruling: PinRuling;
}

export interface PinChangeResult {
  readonly sequence: number;
  readonly previous: PinDecision | null;
}

export interface ModeChange {
  readonly tenantId: string;
  readonly env: Env;
  /** Null: the environment's own mode, for all servers without one. */
  readonly server: string | null;
  /** Null, for a server alone: the environment's mode holds again. */
  readonly mode: PinMode | null;
  readonly at: number;
}

export interface ModeChangeResult {
  readonly sequence: number;
  /** Entries that were accepted, because their server's mode became `hold`. */
  readonly accepted: number;
}

export interface EntryFilter {
  readonly env: Env;
  readonly server: string | null;
}

/**
 * Observations, decisions and modes. Changes of one environment have an order: `sequence` rises with each change of a
 * mode or a ruling in the environment, and a `ServerPins` contains exactly the changes up to its sequence. Of calls at
 * once, also from several nodes, each sees all changes of those before it.
 */
export interface ToolStore {
  /**
   * Stores new definitions and their first rulings in one step, texts that were lacking, and who saw them. Safe to
   * repeat. An entry without a ruling that nobody reported since `unseenBefore` makes room first.
   */
  observe(observation: ToolObservation, unseenBefore: number, room: Rooms): Promise<ObservationOutcome>;
  /** Marks entries as announced. Safe to repeat. */
  announced(tenantId: string, env: Env, ids: readonly string[]): Promise<void>;
  getPins(tenantId: string, env: Env, server: string): Promise<ServerPins>;
  /** Null if the definition has this decision already: nothing is written. */
  decide(change: PinChange): Promise<PinChangeResult | null>;
  /** Null if the mode holds already: nothing is written. */
  updateMode(change: ModeChange): Promise<ModeChangeResult | null>;
  /** The environment's mode and sequence, and its servers by label. */
  listServers(
    tenantId: string,
    env: Env,
  ): Promise<{
    readonly mode: PinMode;
    readonly sequence: number;
    readonly servers: readonly ToolServer[];
  }>;
  /** Without a ruling first, then by server, tool and time. */
  listEntries(tenantId: string, filter: EntryFilter, page: PageRequest): Promise<Page<ListedTool>>;
  get(tenantId: string, id: string): Promise<ToolDefinition | null>;
  /** All definitions of a tool in all environments, oldest first, at most `limit`. */
  listHistory(
    tenantId: string,
    server: string,
    tool: string,
    limit: number,
  ): Promise<readonly ToolDefinition[]>;
  /** Removes entries without a ruling that nobody reported since `before`, at most `limit`; returns how many. */
  removeBefore(before: number, limit: number): Promise<number>;
}
