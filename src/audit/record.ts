// The audit chain: actions of people, keys, agents and the hub, one entry after the other for each tenant. A digest
// binds each link to the one before. Here: the fields of an entry, the texts that are hashed and signed, and which
// answers of a store mean that nothing was changed. Pure.
import { z } from 'zod';
import { type Approval, type Decision, withdrawnVia } from '../approval/record.ts';
import type { JsonObject } from '../contract/record.ts';
import { renderMicros } from '../shared/instant.ts';
import { canonicalJson } from '../shared/json/canonical.ts';
import { hasEscapedHalf, wellFormed } from '../shared/json/well-formed.ts';
import { actorName, type Principal, type RequestOrigin } from '../shared/principal.ts';
import { field, instant, type RecordOf, record } from '../shared/record.ts';
import { uuid } from '../shared/schemas.ts';
import { auditSubjects } from './record/subjects.ts';

export type AuditSubject = (typeof auditSubjects)[number];

export const feedSubjects: readonly AuditSubject[] = auditSubjects.slice(0, 4);

export const auditActorTypes = ['operator', 'key', 'agent', 'chat', 'system'] as const;

export type AuditActorType = (typeof auditActorTypes)[number];

export interface AuditActor {
  readonly type: AuditActorType;
  readonly id: string;
  /** Display name: an e-mail address, or a key's prefix. */
  readonly display: string;
  /** The request that it made. An entry shows it among its details. */
  readonly request?: RequestOrigin;
}

/** The subject's type, a dot, and what became of it: `key.revoked`. */
export type AuditAction = `${AuditSubject}.${string}`;

/** A fact to record. It never contains arguments of tools, key material or tokens. */
export interface AuditNote {
  /**
   * A UUID. One that the tenant's chain has already is not recorded again: what may be repeated derives it from what it
   * is about.
   */
  readonly id: string;
  readonly tenantId: string;
  readonly at: number;
  readonly actor: AuditActor;
  readonly action: AuditAction;
  readonly subject: { readonly id: string; readonly name: string | null };
  /** At most 300 characters. */
  readonly summary: string;
  readonly details: JsonObject;
  readonly agentId: string | null;
  readonly sessionId: string | null;
}

export interface AuditLink {
  readonly seq: number;
  /** The digest of the link before; empty for the first. */
  readonly prev: string;
  /** Hex SHA-256 of `linkText`. */
  readonly digest: string;
  /** `entryText`, or `batchText` of what happened together. */
  readonly body: string;
}

/** The newest link of a tenant's chain. */
export interface ChainHead {
  readonly seq: number;
  readonly digest: string;
  /** Time when its entries occurred. */
  readonly at: number;
}

/** No link yet. */
export const emptyChain: ChainHead = { seq: 0, digest: '', at: 0 };

/** A head that the tenant's key signed. Its holder can prove that links up to it are those of then. */
const signedHeadFields = {
  tenantId: field(uuid),
  seq: field(z.number().int()),
  digest: field(z.string()),
  signedAt: field(instant),
  keyId: field(z.string()),
  /** 64 hex characters. */
  publicKey: field(z.string(), { wire: false }),
  /** Standard base64, over `envelopeBytes` of `headText`. */
  signature: field(z.string(), { wire: false }),
};
export type SignedHead = RecordOf<typeof signedHeadFields>;
/** Its columns and the form of its replies. The text of a reply is `headText`, as it was signed. */
export const signedHeadRecord = record('audit_heads', signedHeadFields);

export const maxSummary = 300;

export const subjectOf = ({ action }: Pick<AuditNote, 'action'>): AuditSubject =>
  action.slice(0, action.indexOf('.')) as AuditSubject;

/** A principal as the actor of an entry. */
export function auditActor(principal: Pick<Principal, 'actor' | 'agentId' | 'request'>): AuditActor {
  const { request } = principal;
  const actor = namedActor(principal);
  return request === undefined ? actor : { ...actor, request };
}

function namedActor({ actor, agentId }: Pick<Principal, 'actor' | 'agentId'>): AuditActor {
  const display = actorName(actor);
  switch (actor.kind) {
    case 'user':
    case 'operator':
    case 'service':
      return { type: 'operator', id: actor.id, display };
    case 'key':
      return agentId === null
        ? { type: 'key', id: actor.id, display }
        : { type: 'agent', id: agentId, display: agentId };
    case 'chat':
      return { type: 'chat', id: actor.id, display };
    case 'system':
      return { type: 'system', id: actor.name, display };
  }
}

/** The request of an actor, as details show it. */
const requestDetails = ({ request }: AuditActor): JsonObject =>
  request === undefined ? {} : { request_id: request.id, network: request.network };

/**
 * The entry as it is kept, hashed and exported: canonical JSON. Its fields stand here in their order, because sorting
 * them again for each entry takes most of the time.
 * @param occurredAt when its link occurred: ISO 8601, never before the link in front of it
 */
function entryText(note: AuditNote, occurredAt: string): string {
  const bounded = { ...note, summary: note.summary.slice(0, maxSummary) };
  const text = writeEntry(bounded, occurredAt);
  return hasEscapedHalf(text) ? writeEntry(wellFormed(bounded), occurredAt) : text;
}

function writeEntry(note: AuditNote, occurredAt: string): string {
  const { actor, subject } = note;
  const type = subjectOf(note);
  const before = JSON.stringify({
    action_type: note.action,
    actor: { display: actor.display, id: actor.id, type: actor.type },
    agent_id: note.agentId,
  });
  const details = canonicalJson(
    actor.request === undefined ? note.details : { ...note.details, ...requestDetails(actor) },
  );
  const after = JSON.stringify({
    id: note.id,
    occurred_at: occurredAt,
    session_id: note.sessionId,
    subject: { id: subject.id, name: subject.name, type },
    subject_type: type,
    summary: note.summary,
  });
  return `${before.slice(0, -1)},"details":${details},${after.slice(1)}`;
}

/** Several entries of one link. */
export const batchText = (entries: readonly string[]): string => `{"entries":[${entries.join(',')}]}`;

/** The text behind a link's digest: canonical JSON of `{entry, prev, seq}`. */
export const linkText = ({ seq, prev, body }: Omit<AuditLink, 'digest'>): string =>
  `{"entry":${body},"prev":"${prev}","seq":${seq}}`;

/**
 * The next link of a chain with the entries of these notes.
 * @param sha256 hex
 */
export function nextLink(
  head: ChainHead,
  notes: readonly AuditNote[],
  sha256: (text: string) => string,
): { readonly link: AuditLink; readonly at: number } {
  // Clocks of nodes differ: the chain's order is the order of times.
  const at = notes.reduce((latest, note) => Math.max(latest, note.at), head.at);
  const occurredAt = renderMicros(at);
  const texts = notes.map((note) => entryText(note, occurredAt));
  const body = texts.length === 1 ? (texts[0] ?? '') : batchText(texts);
  const unsealed = { seq: head.seq + 1, prev: head.digest, body };
  return { link: { ...unsealed, digest: sha256(linkText(unsealed)) }, at };
}

/** The texts of the entries in a link's body, in their order. */
export function entriesOf(body: string): readonly JsonObject[] {
  const parsed = JSON.parse(body) as JsonObject;
  return Array.isArray(parsed.entries) ? (parsed.entries as readonly JsonObject[]) : [parsed];
}

export const headType = 'application/vnd.service.audit-head+json';

/** The signed text of a head: canonical JSON. */
export const headText = (
  head: Pick<SignedHead, 'tenantId' | 'seq' | 'digest' | 'signedAt' | 'keyId'>,
): string =>
  canonicalJson({
    head: {
      tenant_id: head.tenantId,
      seq: head.seq,
      digest: head.digest,
      signed_at: new Date(head.signedAt).toISOString(),
      key_id: head.keyId,
    },
  });

const changes: ReadonlySet<string> = new Set(['created', 'removed', 'rotated']);
const refusals = ['usedBy', 'unknownContract', 'typeChanged'];

/**
 * True if a store's answer reports a change. These answers report none: null, false, an empty list, and a word other
 * than created, removed and rotated. Neither does a record that lists the users of its subject or its missing parts.
 */
export function didChange(answer: unknown): boolean {
  if (answer === null || answer === false) return false;
  if (typeof answer === 'string') return changes.has(answer);
  if (Array.isArray(answer)) return answer.length > 0;
  return typeof answer !== 'object' || !refusals.some((field) => field in answer);
}

/** The note with details that are fields of what its write answered. */
export function withAnswer(
  note: AuditNote,
  fromAnswer: { readonly [detail: string]: string } | undefined,
  answer: unknown,
): AuditNote {
  if (!fromAnswer || typeof answer !== 'object' || answer === null) return note;
  const fields = answer as { readonly [field: string]: unknown };
  const details = Object.entries(fromAnswer).map(([detail, field]) => [detail, fields[field] ?? null]);
  return { ...note, details: { ...note.details, ...Object.fromEntries(details) } };
}

const ofApproval = (approval: Approval) => ({
  tenantId: approval.tenantId,
  subject: { id: approval.id, name: approval.toolName.slice(0, 128) },
  agentId: approval.agentId,
  sessionId: approval.sessionId,
});

/** An approval that was asked for. Its id is the note's: a repeat is recorded once. */
export const requestNote = (approval: Approval, keyId: string | null): AuditNote => ({
  ...ofApproval(approval),
  id: approval.id,
  at: approval.createdAt,
  actor: { type: 'agent', id: approval.agentId, display: approval.agentId },
  action: 'approval.created',
  summary: `Agent ${approval.agentId} asks to call ${approval.toolName}.`,
  details: {
    env: approval.env,
    rule: approval.contractName,
    timeout_seconds: approval.timeoutSeconds,
    key_id: keyId,
  },
});

/** @param now when it is decided */
export const decisionNote = (
  approval: Approval,
  decision: Decision,
  actor: AuditActor | undefined,
  now: number,
): AuditNote => ({
  ...ofApproval(approval),
  id: decision.id,
  at: now,
  // Somebody who pressed a button in a chat is known by the chat alone.
  actor: actor ?? {
    type: decision.decidedBy.startsWith(`${decision.decidedVia}:`) ? 'chat' : 'operator',
    id: decision.decidedBy,
    display: decision.decidedBy,
  },
  action: decision.approved ? 'approval.approved' : 'approval.rejected',
  summary: `${decision.decidedBy} ${decisionWord(decision)} a call of ${approval.toolName}.`,
  details: { env: approval.env, decided_via: decision.decidedVia, reason: decision.reason },
});

const decisionWord = ({ approved, decidedVia }: Decision): string => {
  if (approved) return 'approved';
  return decidedVia === withdrawnVia ? 'withdrew' : 'rejected';
};

export const timeoutNote = (approval: Approval, id: string): AuditNote => ({
  ...ofApproval(approval),
  id,
  at: approval.deadline,
  actor: { type: 'system', id: 'expiry', display: 'system:expiry' },
  action: 'approval.timed_out',
  summary: `Nobody decided a call of ${approval.toolName} in time.`,
  details: { env: approval.env, timeout_seconds: approval.timeoutSeconds },
});

/** Place of an entry: its link, and its place among the entries of that link, from 0. */
export interface AuditPlace {
  readonly seq: number;
  readonly position: number;
}
