// Cursors as clients hold them: sealed for their tenant and list, so that one that was changed, made up or taken from
// elsewhere is refused.
import { refused } from '../../shared/error.ts';
import type { Hub } from './handler.ts';

/** Tenant that the list belongs to, and the kind of the list. */
export interface CursorScope {
  readonly tenantId: string;
  /** One word. */
  readonly list:
    | 'events'
    | 'events_oldest'
    | 'agent_status'
    | 'registrations'
    | 'agents'
    | 'approvals'
    | 'runs'
    | 'rollout'
    | `audit-${string}`
    | `export-${string}`
    | 'coverage'
    | 'matrix'
    | 'approvals_pending'
    | 'approval_groups_pending'
    | 'deployments'
    | 'run_timeline'
    | 'agent_timeline'
    | 'tenants';
}

const prefixOf = ({ tenantId, list }: CursorScope): string => `${tenantId} ${list} `;

/** The cursor of the store as opaque text, safe in a URL. */
export function sealCursor({ secrets }: Pick<Hub, 'secrets'>, scope: CursorScope, cursor: string): string {
  const sealed = secrets.seal('cursor', new TextEncoder().encode(prefixOf(scope) + cursor));
  return Buffer.from(sealed, 'base64').toString('base64url');
}

/** The store's cursor inside. @throws HubError bad_request */
export function openCursor({ secrets }: Pick<Hub, 'secrets'>, scope: CursorScope, text: string): string {
  // The same bytes in another spelling are not ours either.
  if (Buffer.from(text, 'base64url').toString('base64url') !== text) throw invalid();
  let plain: string;
  try {
    plain = new TextDecoder().decode(secrets.unseal('cursor', text));
  } catch {
    throw invalid();
  }
  const prefix = prefixOf(scope);
  if (!plain.startsWith(prefix)) throw invalid();
  return plain.slice(prefix.length);
}

const invalid = () => refused('invalid_cursor', 'The cursor is not valid. Start again without a cursor.');
