// The sessions of people: where they are signed in, and ending that. Only the store knows the tokens' hashes; a session
// is named by a digest of its hash.
import type { ApprovalAssignments } from '../../approval/use-cases/assignments.ts';
import { noted } from '../../audit/note.ts';
import { requireRole } from '../../shared/access.ts';
import { HubError, notFound } from '../../shared/error.ts';
import { uuidOfDigest } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Login, User } from '../record.ts';

export interface LoginSession extends Omit<Login, 'tokenHash'> {
  readonly id: string;
  /** True for the login that asks. */
  readonly isCurrent: boolean;
}

/** Owner of the sessions: the caller (null), or a user of the tenant, for admins. */
type Whose = string | null;

export interface Sessions {
  /**
   * Newest first, at most 1,000.
   * @param tokenHash the login that asks; null: none
   * @throws HubError forbidden, not_found
   */
  list(principal: Principal, whose: Whose, tokenHash: string | null): Promise<readonly LoginSession[]>;
  /**
   * Ends one of one's own. The one that asks, and the last one, end as a sign-out does.
   * @throws HubError forbidden, not_found
   */
  remove(principal: Principal, id: string, tokenHash: string | null): Promise<void>;
  /** Ends all but the one that asks; with `whose` all. @throws HubError forbidden, not_found */
  removeAll(principal: Principal, whose: Whose, tokenHash: string | null): Promise<void>;
}

const maxSessions = 1_000;

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'broadcast'> & {
  readonly approvalAssignments: Pick<ApprovalAssignments, 'release'>;
};

export function createSessions(ports: Ports): Sessions {
  const { store, secrets, clock, broadcast } = ports;
  const idOf = (tokenHash: string): string => uuidOfDigest(secrets.sha256(`session ${tokenHash}`));
  const loginsOf = (userId: string) => store.logins.listOfUser(userId, clock.now(), maxSessions);

  async function userOf(principal: Principal, whose: Whose): Promise<Pick<User, 'id' | 'email'>> {
    const { actor, tenantId } = principal;
    if (whose === null) {
      if (actor.kind === 'user') return actor;
      throw new HubError('forbidden', 'Only a signed-in person has sessions. Sign in first.');
    }
    requireRole(principal, 'admin');
    const user = await store.tenants.getUser(whose);
    if (user?.tenantId !== tenantId) throw notFound('User not found.');
    return user;
  }

  return {
    async list(principal, whose, current) {
      const { id } = await userOf(principal, whose);
      return (await loginsOf(id)).map(({ tokenHash, ...login }) => ({
        ...login,
        id: idOf(tokenHash),
        isCurrent: tokenHash === current,
      }));
    },

    async remove(principal, id, current) {
      const user = await userOf(principal, null);
      const login = (await loginsOf(user.id)).find(({ tokenHash }) => idOf(tokenHash) === id);
      if (!login) throw notFound('Session not found.');
      const { tokenHash } = login;
      await noted(ports, principal, {
        action: 'login.ended',
        subject: { id: user.id, name: user.email },
        summary: `${user.email} ended a session.`,
        onceFor: tokenHash,
      }).logins.remove(tokenHash);
      await broadcast.control({ kind: 'login_ended', tokenHash });
      if (tokenHash === current || (await loginsOf(user.id)).length === 0)
        await ports.approvalAssignments.release(principal.tenantId, user.id);
    },

    async removeAll(principal, whose, current) {
      const user = await userOf(principal, whose);
      const except = whose === null ? (current ?? undefined) : undefined;
      await noted(ports, principal, {
        action: 'user.sessions_ended',
        subject: { id: user.id, name: user.email },
        summary: `The${except === undefined ? '' : ' other'} sessions of ${user.email} were ended.`,
      }).logins.removeOfUser(user.id, except);
      await broadcast.control({
        kind: 'user_logins_ended',
        userId: user.id,
        ...(except === undefined ? {} : { except }),
      });
      if (except === undefined) await ports.approvalAssignments.release(principal.tenantId, user.id);
    },
  };
}
