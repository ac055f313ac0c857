// Store port of the audit chain (promise P30). Each tenant has one chain: links are numbered from 1, each holds the
// digest of the one before, and none is ever changed. Only the oldest may be taken away, those up to a signed head: the
// chain then starts behind that head.
import type { JsonObject } from '../contract/record.ts';
import type { AuditLink, AuditNote, AuditPlace, AuditSubject, ChainHead, SignedHead } from './record.ts';

/** Filters of the list. Null means no filter. */
export interface AuditFilter {
  /** Included. */
  readonly from: number | null;
  /** Excluded. */
  readonly to: number | null;
  /** The actor's id or what is shown of it, whatever the case. */
  readonly actor: string | null;
  readonly actions: readonly string[] | null;
  readonly subjects: readonly AuditSubject[] | null;
}

/** An entry and its place in the chain. */
export interface PlacedAuditEntry extends AuditPlace {
  /** As `entryText` writes it. */
  readonly entry: JsonObject;
}

/** The audit chains of all tenants. */
export interface AuditStore {
  /**
   * Adds notes of one tenant to its chain, without those whose ids it has already. They are one link, which may hold
   * those of other calls of the same moment. Safe to repeat. For notes without a write of their own. A write takes its
   * note along (`Store.noting`), and a batch of events takes the notes of its decisions (`EventStore.ingest`).
   */
  append(notes: readonly AuditNote[]): Promise<void>;
  /**
   * Newest first, from the place before `before`; at most `limit`.
   * @throws HubError search_timeout when it takes longer than `maxSearchMs`
   */
  list(
    tenantId: string,
    filter: AuditFilter,
    before: AuditPlace | null,
    limit: number,
  ): Promise<readonly PlacedAuditEntry[]>;
  /** Null: nothing was ever recorded. */
  getHead(tenantId: string): Promise<ChainHead | null>;
  /**
   * Links from one number to another that are kept, in order, until they hold `maxBytes`; at least one if there is one.
   */
  listLinks(tenantId: string, from: number, to: number, maxBytes: number): Promise<readonly AuditLink[]>;
  /** The number of the last stored link that occurred before a time, in epoch milliseconds; 0 if there is none. */
  getLastBefore(tenantId: string, time: number): Promise<number>;
  /** Keeps a signed head; an older one than the newest is kept too. */
  createHead(head: SignedHead): Promise<void>;
  /** The signed head of the highest link; null when none was signed. */
  getSignedHead(tenantId: string): Promise<SignedHead | null>;
  /** The signed head that the kept chain starts behind; null when it starts with link 1. */
  start(tenantId: string): Promise<SignedHead | null>;
  /**
   * Takes away links that occurred before `before`, up to the last one that a signed head covers. The chain starts
   * behind that head from the first call on. The newest link and that head stay. Safe to repeat. @returns how many
   * links went, at most `limit`; 0: none is left
   */
  retain(tenantId: string, before: number, limit: number): Promise<number>;
  /**
   * Records the entries that dead processes left: those of dead nodes, and all that began before `before`. An entry
   * without proof of its write gets `unconfirmed: true`. Safe to repeat, also on several nodes at once. A write that
   * continues after all finds its entry.
   * @param gone default: no node is dead
   * @returns the number of entries, at most `limit`
   */
  recover(before: number, limit: number, gone?: GoneNodes): Promise<number>;
}

/** Nodes that are probably dead. */
export interface GoneNodes {
  isGone(node: string): boolean;
  /** Epoch milliseconds: younger entries may be of writes under way, if a node lives after all. */
  readonly before: number;
}

/** A note on its way with a write. */
export interface Noting {
  readonly note: AuditNote;
  /** Details that are fields of what the write answers: name of the detail → name of the field. */
  readonly fromAnswer?: { readonly [detail: string]: string };
}
