// Recording: a note beside the write that it is about. `noted(ports, principal, {...}).keys.create(key)` writes the key
// and the entry, or neither.

import type { JsonObject } from '../contract/record.ts';
import { uuidOfDigest } from '../shared/ids.ts';
import type { NotingStores } from '../shared/ports/store.ts';
import type { Principal } from '../shared/principal.ts';
import { snakeKeys } from '../shared/snake-keys.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import {
  type AuditAction,
  type AuditActor,
  type AuditNote,
  type AuditSubject,
  auditActor,
} from './record.ts';
import { changeOf } from './rules.ts';

/** A fact to note. */
export interface Happening {
  readonly action: AuditAction;
  readonly subject: { readonly id: string; readonly name?: string | null };
  /** A sentence of at most 300 characters. */
  readonly summary: string;
  /** Never arguments of tools, key material or tokens. Their names are stored in snake_case. */
  readonly details?: JsonObject;
  /** Details that are fields of what the write answers: name of the detail → name of the field. */
  readonly fromAnswer?: { readonly [detail: string]: string };
  readonly agentId?: string | null;
  readonly sessionId?: string | null;
  /** For what may be repeated: equal texts are recorded once. */
  readonly onceFor?: string;
}

type Ports = Pick<AppPorts, 'clock' | 'secrets'>;

/** A UUID (version 8) of a text: the same for the same text. */
function uuidOf(text: string, { secrets }: Pick<Ports, 'secrets'>): string {
  return uuidOfDigest(secrets.sha256(text));
}

/** A note of a tenant; at the present time. */
export function noteOf(
  ports: Ports,
  tenantId: string,
  actor: AuditActor,
  { action, subject, summary, details = {}, agentId = null, sessionId = null, onceFor }: Happening,
): AuditNote {
  return {
    id: onceFor === undefined ? ports.secrets.uuid() : uuidOf(`${action} ${onceFor}`, ports),
    tenantId,
    at: ports.clock.now(),
    actor,
    action,
    subject: { id: subject.id, name: subject.name ?? null },
    summary,
    details: snakeKeys(details),
    agentId,
    sessionId,
  };
}

/**
 * The stores, for one write: the note is recorded exactly when the write's answer means a change (`didChange` in
 * src/audit/record.ts).
 */
export const noted = (
  ports: Ports & { readonly store: Pick<AppPorts['store'], 'noting'> },
  principal: Principal,
  what: Happening,
): NotingStores =>
  ports.store.noting({
    note: noteOf(ports, principal.tenantId, auditActor(principal), what),
    ...(what.fromAnswer ? { fromAnswer: snakeKeys(what.fromAnswer) } : {}),
  });

/**
 * The same for plain changes of one kind of subject:
 * `recorded(ports, 'contract', principal, 'created', 'mail-limits')`.
 */
export function recorded(
  ports: Parameters<typeof noted>[0],
  subject: AuditSubject,
  principal: Principal,
  became: string,
  id: string,
  { name = id, details = {} }: { readonly name?: string; readonly details?: JsonObject } = {},
): NotingStores {
  const words = subject.replace('_', ' ');
  return noted(ports, principal, {
    action: `${subject}.${became}`,
    subject: { id, name },
    summary: `The ${words} ${name.slice(0, 200)} was ${became.replaceAll('_', ' ')}.`,
    details,
  });
}

/** `changeOf` with the digests of these ports. */
export const changeBy = (
  { secrets }: Pick<Ports, 'secrets'>,
  before: Parameters<typeof changeOf>[0],
  after: Parameters<typeof changeOf>[1],
): JsonObject => changeOf(before, after, (text) => secrets.sha256(text));

/** An upload of a document, as a bundle of the console or as a ruleset. */
export const uploaded = (subject: 'bundle' | 'ruleset', name: string): Happening => ({
  action: `${subject}.uploaded`,
  subject: { id: name, name },
  summary: `A version of ${name} was uploaded.`,
  fromAnswer: { version: 'version', revisionHash: 'revisionHash' },
});
